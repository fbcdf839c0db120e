# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings that a cloud refuses for good, or answers with nonsense: told by line, reason, status and check mode."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.launcher_case import Site, label, pool, provider

REFUSED = {"status": 403, "message": "Policy does not allow this to be performed."}
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lists": ("GET /servers/detail", "status", REFUSED),
    "flavors": ("GET /flavors/detail", "status", {"status": 404, "message": "The resource could not be found."}),
    "networks": ("GET /networks*", "status", REFUSED),
    "limits": ("GET /limits", "status", REFUSED),
    "images": ("GET /images*", "status", REFUSED),
    "page": ("GET /servers/detail", "garbage", {}),
    "null": ("GET /flavors/detail", "status", {"status": 200, "body": {"flavors": None}}),
}
"""Provider → the call that fails, how, and what is answered."""


def play(site: Site, name: str, *words: str, **variables: Any) -> tuple[int, str]:
    done = command(
        "ansible-playbook",
        ROOT / "playbooks" / name,
        "-e",
        site.variables(**variables),
        *words,
        folder=site.folder,
        timeout=240,
    )
    return done.returncode, f"{done.stdout}\n{done.stderr}"


@pytest.mark.long
def test_what_is_not_had_is_told_everywhere_and_a_pool_with_a_limit_of_its_own_goes_on(site: Site):
    names = [*CASES, "bounded"]
    for name in names:
        site.add_cloud(name)
    # A network that is named has to be looked up.
    pools: dict[str, dict[str, Any]] = {name: {} for name in names}
    pools["networks"] = {"networks": ["private"]}
    pools["bounded"] = {"max_servers": 3}
    site.configure(*(provider(name, pool("main", label(name, flavor_name="small"), **pools[name])) for name in names))
    for name, (kind, fault, options) in {**CASES, "bounded": CASES["limits"]}.items():
        site.clouds[name].fault(kind, fault, **options)
    requests = {name: site.requestor.ask(name) for name in names}
    status, said = play(site, "launcher.yml", launcher_duration=30, launcher_until="deadline")
    assert status == 0, said
    assert site.requestor.state(requests.pop("bounded")) == "fulfilled", "max-servers is limit enough"
    assert "ignore-provider-quota" in said
    for name, request in requests.items():
        assert site.requestor.state(request) == "requested", (name, said[-3000:])
        reason = site.requestor.read(f"/nodepool/stackci/waits/{request}")
        assert reason is not None and reason["code"] == "provider-trouble", (name, reason)
        assert reason["owner"] in ("account", "cloud"), reason
        assert CASES[name][0].rstrip("*") in reason["text"], reason
        health = site.requestor.read(f"/nodepool/stackci/providers/{name}")["health"]
        assert health["state"] == "trouble", (name, health)
        kinds = [call for call in site.clouds[name].calls() if call["kind"].startswith(CASES[name][0].rstrip("*"))]
        assert len(kinds) <= 12, f"{name}: {len(kinds)} calls that can only fail in half a minute"
    _status, screen = play(site, "status.yml", require_launcher=False)
    assert all(f"{name}:" in screen and "in trouble" in screen for name in CASES), screen
    status, said = play(site, "launcher.yml", "--check")
    assert status != 0, said
    assert all(f"provider {name}" in said for name in CASES), said
