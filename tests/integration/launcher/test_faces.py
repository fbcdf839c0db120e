# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook and the module as users call them, and what they say when they are called wrongly."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import ROOT, Ran, command
from tests.support.launcher_case import Site, provider
from tests.support.launcher_process import run_directly
from tests.support.zookeeper_server import free_port

PLAYBOOK = ROOT / "playbooks" / "launcher.yml"


def playbook(
    site: Site, *words: str, name: str | Path = PLAYBOOK, **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run from the site's own folder, which is not that of the collection."""
    return command("ansible-playbook", name, "-e", site.variables(**variables), *words, folder=site.folder)


@pytest.mark.parametrize("name", [PLAYBOOK, "stackci.nodepool.launcher"], ids=["path", "fqcn"])
def test_the_playbook_serves_from_any_folder(site: Site, name: str | Path):
    site.configure()
    request = site.requestor.ask("small", "medium")
    ran = playbook(site, name=name)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(site.requestor.nodes_of(request)) == 2
    assert "1 request fulfilled" in ran.stdout
    assert "2 nodes became ready" in ran.stdout
    assert "changed=1" in ran.stdout


def test_paths_are_meant_from_where_the_command_was_given(site: Site):
    """Not from the folder of the playbook, which is somewhere in an installed collection."""
    site.configure()
    names = {"nodepool_config": site.config.name, "nodepool_clouds_config": f"./{site.clouds_yaml.name}"}
    words = ("ansible-playbook", "stackci.nodepool.launcher", "-e", json.dumps(names), "--check")
    ran = command(*words, folder=site.folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    sweeping = ("ansible-playbook", "stackci.nodepool.leak_cleanup", "-e", json.dumps(names), "--check")
    ran = command(*sweeping, folder=site.folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_playbook_does_without_the_users_collections_path(site: Site):
    """From a plain checkout, with nothing installed."""
    site.configure()
    request = site.requestor.ask("small")
    ran = command(
        "ansible-playbook",
        PLAYBOOK,
        "-e",
        site.variables(),
        folder=site.folder,
        ANSIBLE_COLLECTIONS_PATH="/nonexistent",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert site.requestor.nodes_of(request)


def test_the_playbooks_variables(site: Site):
    site.configure(provider("one"), provider("two"))
    secure = site.folder / "secure.conf"
    servers = json.loads(site.config.read_text())["zookeeper-servers"]
    secure.write_text(json.dumps({"zookeeper-servers": servers}))
    config = json.loads(site.config.read_text())
    config["zookeeper-servers"] = [{"host": "127.0.0.1", "port": free_port()}]
    site.config.write_text(json.dumps(config))
    request = site.requestor.ask("small", provider="one")
    ran = playbook(
        site,
        nodepool_secure_config=str(secure),
        launcher_only_providers=["two"],
        launcher_duration=60,
        launcher_until="settled",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Provider one is left to others, and none of them is there: two serves the request that prefers it.
    assert site.cloud.calls() == []
    (node,) = site.requestor.nodes_of(request)
    assert site.requestor.node(node)["provider"] == "two"


# -- called wrongly -----------------------------------------------------------------------------------------------


def said(ran: Ran) -> str:
    """The one sentence of a failure."""
    assert ran.result["failed"] is True, ran.result
    message = str(ran.result["msg"])
    assert "Traceback" not in ran.screen and "Traceback" not in json.dumps(ran.result)
    assert "Error(" not in message
    return message


def launch(site: Site, **options: Any) -> Ran:
    values = {"config": str(site.config), "clouds_config": str(site.clouds_yaml), "duration": 3, **options}
    return run_directly(site, values)


def test_an_unknown_provider(site: Site):
    site.configure()
    message = said(launch(site, providers=["one", "nobody"]))
    assert "'nobody'" in message and "one" in message and str(site.config) in message
    assert "\n" not in message


def test_a_missing_configuration(site: Site):
    site.configure()
    message = said(launch(site, config=str(site.folder / "nothing.yaml")))
    assert str(site.folder / "nothing.yaml") in message


def test_a_missing_secure_configuration(site: Site):
    site.configure()
    message = said(launch(site, secure_config=str(site.folder / "nothing.conf")))
    assert str(site.folder / "nothing.conf") in message


def test_a_configuration_that_is_wrong_names_everything_that_is(site: Site):
    site.configure()
    config = json.loads(site.config.read_text())
    config["providers"][0]["pools"][0]["max-servers"] = "many"
    config["providers"][0]["pools"][0]["labels"][0]["cloud-image"] = "nothing"
    config["labels"].append({"min-ready": 1})
    site.config.write_text(json.dumps(config))
    ran = launch(site)
    message = said(ran)
    assert len(ran.result["problems"]) >= 3
    for word in ("max-servers", "nothing", "name", str(site.config)):
        assert word in message


@pytest.mark.parametrize(
    ("option", "value"),
    [("duration", "soon"), ("duration", -1), ("until", "tomorrow"), ("providers", {"one": 1}), ("unknown_option", 1)],
)
def test_options_of_a_wrong_type(site: Site, option: str, value: Any):
    site.configure()
    message = said(launch(site, **{option: value}))
    assert option in message


def test_an_unreachable_zookeeper(site: Site):
    site.configure()
    port = free_port()
    config = json.loads(site.config.read_text())
    config["zookeeper-servers"] = [{"host": "127.0.0.1", "port": port}]
    site.config.write_text(json.dumps(config))
    message = said(launch(site))
    assert f"127.0.0.1:{port}" in message and "\n" not in message


def test_a_wrong_cloud_name_is_told_and_the_others_are_served(site: Site):
    site.configure(provider("one"), provider("two"))
    config = json.loads(site.config.read_text())
    config["providers"][1]["cloud"] = "no-such-cloud"
    site.config.write_text(json.dumps(config))
    request = site.requestor.ask("small")
    ran = playbook(site)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert site.requestor.nodes_of(request)
    assert "provider two is skipped" in ran.stderr and "no-such-cloud" in ran.stderr


def test_a_missing_clouds_yaml(site: Site):
    site.configure()
    ran = launch(site, clouds_config=str(site.folder / "nothing.yaml"))
    text = json.dumps(ran.result)
    assert "nothing.yaml" in text and "Traceback" not in text


def test_a_wrong_password_is_told_and_not_shown(site: Site):
    site.configure()
    entries = json.loads(site.clouds_yaml.read_text())
    entries["clouds"]["one"]["auth"]["password"] = "wrong-and-secret-1234"
    site.clouds_yaml.write_text(json.dumps(entries))
    request = site.requestor.ask("small")
    ran = playbook(site, "-vvv", launcher_duration=3)
    screen = ran.stdout + ran.stderr
    assert ran.returncode == 0, screen
    assert "wrong-and-secret-1234" not in screen
    assert "Traceback" not in screen
    assert "provider-trouble" in screen and "401" in screen
    assert site.requestor.state(request) == "requested"
    stored = site.requestor.read(f"/nodepool/stackci/waits/{request}")
    assert stored["code"] == "provider-trouble"
    assert "wrong-and-secret-1234" not in json.dumps(stored)


def test_no_password_and_no_token_in_what_is_shown_or_stored(site: Site):
    """-vvv shows everything that a module returns and was given."""
    site.configure()
    site.requestor.ask("small")
    site.cloud.fault("POST /servers", "status", status=400, message="bad", count=1)
    ran = playbook(site, "-vvv", "--diff")
    screen = ran.stdout + ran.stderr
    assert ran.returncode == 0, screen
    assert site.cloud.password not in screen
    assert "gAAAA" not in screen
    assert not any(site.cloud.password.encode() in data for data, *_rest in site.requestor.tree().values())
