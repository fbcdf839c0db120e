# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode reads, and nothing else."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.support.ansible_run import ROOT, Ran, command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.launcher_process import run_directly

READING = {"GET", "HEAD"}


def check(site: Site, *, diff: bool = True, **more: Any) -> Ran:
    options = {"config": str(site.config), "clouds_config": str(site.clouds_yaml), **more}
    return run_directly(site, options, check=True, diff=diff)


def busy_site(site: Site) -> dict[str, str]:
    """Something of everything that a cycle would do."""
    site.configure(
        provider("one", pool("main", label("small"), label("large"), max_servers=4)),
        labels={"small": {"min-ready": 1, "max-ready-age": 100}},
    )
    requestor = site.requestor
    return {
        "used": requestor.make_node("used"),
        "ready": requestor.make_node("ready", az="az1"),
        "old": requestor.make_node("ready", state_time=time.time() - 1000),
        "deallocated": requestor.make_node("ready", allocated_to="200-0000099999"),
        "reuses": requestor.ask("small"),
        "waits": requestor.ask("large", "large"),
        "unknown": requestor.ask("gigantic"),
        "left": requestor.ask("small", state="pending", nodes=[], declined_by=[]),
    }


def test_the_tree_is_the_same_to_the_byte_and_the_clouds_are_only_read(site: Site):
    busy_site(site)
    before = site.requestor.tree()
    ran = check(site)
    assert ran.result["failed"] is False, ran.result
    assert ran.result["changed"] is True
    assert site.requestor.tree() == before
    calls = site.cloud.calls()
    writing = [call["kind"] for call in calls if call["kind"].split(" ")[0] not in READING]
    assert calls and writing == ["POST /auth/tokens"]
    assert ran.result["api_calls"]["one"]["POST /auth/tokens"] == {"201": 1}


def test_the_plan_with_its_reasons(site: Site):
    names = busy_site(site)
    result: dict[str, Any] = check(site).result
    plan = result["plan"]
    assert {item["node"]: item["reason"]["code"] for item in plan["delete"]} == {
        names["used"]: "used",
        names["old"]: "aged",
    }
    (admit,) = [item for item in plan["admit"] if item["request"] == names["reuses"]]
    assert admit["slots"] == [{"label": "small", "node": names["ready"]}]
    (decline,) = plan["decline"]
    assert (decline["request"], decline["fail"]) == (names["unknown"], True)
    (wait,) = plan["wait"]
    assert (wait["request"], wait["reason"]["code"]) == (names["waits"], "no-room")
    lines = result["diff"]["after"].splitlines()
    for name in ("used", "old", "deallocated", "reuses", "waits", "unknown", "left"):
        assert any(names[name] in line for line in lines), (name, lines)


def test_the_plan_is_on_the_screen_with_diff_and_only_then(site: Site):
    names = busy_site(site)
    shown = f"request {names['waits']}: wait, "
    arguments = ("ansible-playbook", ROOT / "playbooks" / "launcher.yml", "-e", site.variables(), "--check")
    ran = command(*arguments, "--diff", folder=site.folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert shown in ran.stdout
    plain = command(*arguments, folder=site.folder)
    assert plain.returncode == 0
    assert shown not in plain.stdout


def test_what_a_cycle_then_does_is_what_the_plan_said(site: Site):
    site.configure(provider("one", pool("main", max_servers=2)), labels={"medium": {"min-ready": 1}})
    requests = [site.requestor.ask("small"), site.requestor.ask("large", "large"), site.requestor.ask("gigantic")]
    plan = check(site).result["plan"]
    result = site.run()
    assert [item["request"] for item in plan["admit"]] == result["requests"]["fulfilled"] == requests[:1]
    assert [item["request"] for item in plan["wait"]] == [item["id"] for item in result["requests"]["waiting"]]
    assert [item["request"] for item in plan["decline"]] == [item["id"] for item in result["requests"]["failed"]]
    assert plan["spare"] == []


def test_with_nothing_to_do_nothing_would_change(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    site.run()
    result = check(site).result
    assert (result["changed"], result["diff"]["after"]) == (False, "")


def test_beside_a_launcher_that_acts(site: Site):
    site.configure()
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.requestor.wait_for(site.requestor.ask("small"))
        before = site.requestor.tree()
        result = check(site).result
        assert site.requestor.tree() == before
    assert (result["acting_elsewhere"], result["acted_for"], result["ended"]) == (["one"], [], "check")


def test_in_an_empty_tree(site: Site):
    site.configure(provider("nobody-launched-yet"))
    site.requestor.client.delete("/nodepool", recursive=True)
    result = check(site).result
    assert (result["failed"], result["changed"]) == (False, False)
    assert list(site.requestor.tree()) == ["/"]
    json.dumps(result["plan"])


def spoil(site: Site, name: str, **auth: str) -> None:
    """A provider whose login or address is wrong."""
    good = site.bank.take().entry["auth"]
    site.add_cloud(name, auth={**good, **auth})


def test_why_each_provider_cannot_be_used_is_told_once_and_the_module_fails(site: Site):
    site.add_cloud("one")
    spoil(site, "password", password="another-one")
    spoil(site, "refused", auth_url="http://127.0.0.1:1/v3")
    spoil(site, "dns", auth_url="http://no-such-host.invalid:5000/v3")
    spoil(site, "tls", auth_url=site.cloud.entry["auth"]["auth_url"].replace("http://", "https://"))
    site.configure(*(provider(name) for name in ("one", "password", "refused", "dns", "tls", "missing")))
    document = json.loads(site.clouds_yaml.read_text("utf-8"))
    del document["clouds"]["missing"]
    site.clouds_yaml.write_text(json.dumps(document), encoding="utf-8")
    request = site.requestor.ask("small")
    result = check(site).result
    assert result["failed"] is True
    assert result["providers"]["one"] == {"reached": True}
    said = {name: row["text"] for name, row in result["providers"].items() if not row["reached"]}
    assert "does not accept the login of entry 'password'" in said["password"]
    assert "127.0.0.1:1 refused it: check auth_url of entry 'refused'" in said["refused"]
    assert "the name 'no-such-host.invalid' cannot be resolved: correct auth_url" in said["dns"]
    assert "does not speak TLS: write http:// in auth_url" in said["tls"]
    assert "has no entry 'missing' under 'clouds'" in said["missing"]
    assert sorted(result["msg"].splitlines()) == sorted(result["unusable"]) == sorted(said.values())
    assert [item["request"] for item in result["plan"]["admit"]] == [request]
    assert check(site, strict_check=False).result["failed"] is False


def test_the_playbook_tells_the_plan_first_and_fails_at_the_end(site: Site):
    site.add_cloud("two", auth={**site.bank.take().entry["auth"], "password": "another-one"})
    site.configure(provider("one"), provider("two"))
    arguments = ("ansible-playbook", ROOT / "playbooks" / "launcher.yml", "--check", "-e")
    ran = command(*arguments, site.variables(), folder=site.folder)
    assert ran.returncode != 0
    assert "would be served" in ran.stdout and "does not accept the login of entry 'two'" in ran.stdout
    lenient = command(*arguments, site.variables(launcher_strict_check=False), folder=site.folder)
    assert lenient.returncode == 0 and "does not accept the login of entry 'two'" in lenient.stdout
