# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""clouds.yaml changes, passwords are wrong and tokens are revoked while a cycle runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import login
from tests.integration.reload.conftest import Looks
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, Site, provider
from tests.support.zookeeper_server import free_port

LOGIN = "POST /auth/tokens"


def set_password(site: Site, name: str, password: str) -> None:
    document: dict[str, Any] = json.loads(site.clouds_yaml.read_text("utf-8"))
    document["clouds"][name]["auth"]["password"] = password
    site.clouds_yaml.write_text(json.dumps(document), "utf-8")


def logins(cloud: Cloud) -> int:
    return len(cloud.calls(LOGIN))


def test_a_wrong_password_hammers_nobody_and_is_taken_when_it_is_mended(site: Site, monkeypatch: pytest.MonkeyPatch):
    """Nothing that happens meanwhile makes the launcher try again before the pause is over, which here it never is."""
    monkeypatch.setattr(login, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(login, "LONGEST_PAUSE", 3600.0)
    site.configure(provider("one"), provider("two"))
    right = site.cloud.password
    set_password(site, "one", "wrong")
    with site.stay() as cycle:
        request = site.requestor.ask("small", provider="one")
        eventually(lambda: logins(site.cloud) >= 1)
        others = [site.requestor.ask("small", provider="two") for _unused in range(3)]
        for other in others:
            site.requestor.wait_for(other)
        assert logins(site.cloud) == 1
        set_password(site, "one", right)
        site.requestor.wait_for(request)
        last = site.requestor.ask("small", provider="one")
        site.requestor.wait_for(last)
        assert len(site.cloud.servers()) >= 1
    result = cycle.end()
    assert result["health"]["one"] == {"state": "ok"}
    assert set(result["api_calls"]["one"][LOGIN]) == {"201", "401"}


def test_a_new_password_in_the_middle_is_taken_and_what_is_in_flight_goes_on(site: Site):
    site.configure()
    site.cloud.settings(boot=8.0)
    with site.stay() as cycle:
        request = site.requestor.ask("small")
        eventually(site.cloud.servers)
        set_password(site, "one", "wrong")
        eventually(lambda: any(call["status"] == 401 for call in site.cloud.calls(LOGIN)))
        set_password(site, "one", site.cloud.password)
        site.requestor.wait_for(request, seconds=30)
        assert len(site.cloud.servers()) == 1
    assert len(cycle.end()["nodes"]["launched"]) == 1


def test_revoked_tokens_cost_one_login(site: Site):
    site.configure()
    with site.stay():
        for _unused in range(3):
            site.requestor.wait_for(site.requestor.ask("small"))
        before = logins(site.cloud)
        site.cloud.revoke_tokens()
        requests = [site.requestor.ask("small") for _unused in range(5)]
        for request in requests:
            site.requestor.wait_for(request)
        assert logins(site.cloud) == before + 1


def test_a_broken_clouds_yaml_leaves_the_clients_as_they_are(site: Site, looks: Looks):
    site.configure()
    with site.stay() as cycle:
        site.requestor.wait_for(site.requestor.ask("small"))
        whole = site.clouds_yaml.read_text("utf-8")
        site.clouds_yaml.write_text(whole[: len(whole) // 2], "utf-8")
        eventually(lambda: [line for line in cycle.lines if "is not valid YAML" in line])
        site.requestor.wait_for(site.requestor.ask("medium"))
        looks.happen(10)
        assert len([line for line in cycle.lines if "is not valid YAML" in line]) == 1
    (problem,) = cycle.end()["config_problems"]
    assert "is not valid YAML" in problem
    assert site.cloud.password not in problem


def test_a_profile_that_its_web_server_does_not_give_leaves_out_that_provider_alone(site: Site):
    """openstacksdk fetches such a profile each time that it reads the entry."""
    site.add_cloud("two", profile=f"http://127.0.0.1:{free_port()}")
    site.configure(provider("one"), provider("two"))
    request = site.requestor.ask("small")
    result = site.run()
    (node,) = site.requestor.nodes_of(request)
    assert site.requestor.node(node)["provider"] == "one"
    assert "its profile is fetched from a web server, and that failed" in json.dumps(result)
