# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Catalogs that lack a service, and facts that make no sense, by the real playbook: told, and over when mended."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from tests.support.ansible_run import run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.launcher_process import LauncherProcess

CREATE, FLAVORS, LISTS = "POST /servers", "GET /flavors/detail", "GET /servers/detail"
TOLD, SERVED = 60.0, 150.0
CATALOGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no-image": ({"image": None}, "account", "no service 'image'"),
    "no-network": ({"network": None}, "account", "no service 'network'"),
    "other-region": ({"compute": {"region": "Elsewhere"}}, "account", "no service 'compute' in region 'RegionOne'"),
}
"""Provider → what its catalog shows, whose fault that is, and what is told."""
ANSWERS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "bad-catalog": ("POST /auth/tokens", "edited", {"set": {"token.catalog": None}}, "does not match the API"),
    "null-ram": (FLAVORS, "edited", {"set": {"flavors.*.ram": None}}, "ram is null where a number belongs"),
    "null-images": ("GET /images", "edited", {"set": {"images": None}}, "'images' is not a list"),
    "packed": (
        FLAVORS,
        "status",
        {"status": 200, "page": "no gzip", "headers": {"Content-Encoding": "gzip"}},
        "its answer cannot be decompressed",
    ),
    "page": (FLAVORS, "status", {"status": 502, "page": "<p>away <![foo[bar]]>"}, "was answered with 502: away"),
    "moved": (
        LISTS,
        "status",
        {"status": 302, "headers": {"Location": "http://elsewhere.invalid/"}},
        "which is another host",
    ),
    "nothing": (LISTS, "status", {"status": 204, "page": ""}, "its answer (204) is not JSON"),
}
"""Provider → the call, what happens to it, and what is told."""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_is_not_had_is_told_costs_few_calls_and_ends_when_it_is_mended(site: Site):
    """Clouds that lack what nobody needs serve beside them."""
    well: dict[str, dict[str, Any]] = {"volumes": {"boot_from_volume": True}, "zones": {}, "good": {}}
    names = [*CATALOGS, *ANSWERS, *well]
    for name in names:
        site.add_cloud(name)
    site.configure(
        *(provider(name, pool("main", label(name, flavor_name="small", **well.get(name, {})))) for name in names)
    )
    for name, (catalog, _owner, _text) in CATALOGS.items():
        site.clouds[name].settings(catalog=catalog)
    for name, (kind, fault, options, _text) in ANSWERS.items():
        site.clouds[name].fault(kind, fault, **options)
    site.clouds["volumes"].fault("GET /volume/limits", "status", status=501)
    site.clouds["zones"].fault("GET /os-availability-zone", "status", status=500)
    requestor = site.requestor
    told = {name: (owner, text) for name, (_shown, owner, text) in CATALOGS.items()}
    told |= {name: ("cloud", text) for name, (_kind, _fault, _options, text) in ANSWERS.items()}
    with LauncherProcess(site, forked=True, launcher_duration=900, launcher_until="deadline"):
        requests = {name: requestor.ask(name) for name in names}
        for name in well:
            requestor.wait_for(requests[name], seconds=TOLD)
        for name, (owner, text) in told.items():
            reason = eventually(partial(_reason, site, requests[name], text), TOLD)
            assert reason["owner"] == owner, reason
            health = eventually(partial(_trouble, site, name), TOLD)
            assert health["services"], health
        for name in told:
            assert site.clouds[name].calls(CREATE) == []
        # A working provider wakes the cycle all the time.
        for name in names:
            site.clouds[name].clear_calls()
        for _turn in range(15):
            requestor.wait_for(requestor.ask("good"), seconds=TOLD)
        calls = {name: Counter(call["kind"] for call in site.clouds[name].calls()) for name in told}
        seconds = _span(site)
        for name, kinds in calls.items():
            assert max(kinds.values(), default=0) <= 4 + seconds / 4, (name, kinds, seconds)
        checked = run_alone("nodepool_config_check", site.files(), site.folder, timeout=300).result["providers"]
        assert {name for name in told if checked[name]["reached"]} <= {"moved", "nothing"}, "no list is read there"
        for name in told:
            site.clouds[name].settings(catalog={})
            site.clouds[name].clear_faults()
        for name in told:
            requestor.wait_for(requests[name], seconds=SERVED)
            eventually(partial(_is_well, site, name), SERVED)
            assert requestor.read(f"/nodepool/stackci/waits/{requests[name]}") is None


def _reason(site: Site, request: str, text: str) -> dict[str, Any] | None:
    reason = site.requestor.read(f"/nodepool/stackci/waits/{request}") or {}
    return reason if reason.get("code") == "provider-trouble" and text in reason["text"] else None


def _trouble(site: Site, name: str) -> dict[str, Any] | None:
    health = (site.requestor.read(f"/nodepool/stackci/providers/{name}") or {}).get("health") or {}
    return health if health.get("state") == "trouble" else None


def _is_well(site: Site, name: str) -> bool:
    return _trouble(site, name) is None


def _span(site: Site) -> float:
    """The seconds in which calls were made."""
    times = [call["start"] for call in site.clouds["good"].calls()]
    return float(max(times) - min(times)) if times else 0.0


ROWS = {"status": "1 of 1 server has no status", "addresses": "addresses is null where an object belongs"}
"""Key of a row of nova's list that is null → what is told."""


def test_rows_of_a_list_without_a_status_or_addresses_are_told_everywhere_and_waited_for(site: Site):
    for name in ROWS:
        site.add_cloud(name)
    site.configure(*(provider(name, pool("main", label(name, flavor_name="small"))) for name in ROWS))
    for name in ROWS:
        site.clouds[name].fault(LISTS, "edited", set={f"servers.*.{name}": None})
    requestor = site.requestor
    with LauncherProcess(site, forked=True, launcher_duration=600, launcher_until="deadline"):
        requests = {name: requestor.ask(name) for name in ROWS}
        for name, text in ROWS.items():
            reason = eventually(partial(_reason, site, requests[name], text), TOLD)
            assert reason["owner"] == "cloud", reason
            health = eventually(partial(_trouble, site, name), TOLD)
            assert text in health["services"][LISTS]["text"], health
        for module in ("provider_info", "nodepool_status"):
            shown = str(run_alone(module, {"config": str(site.config)}, site.folder).result)
            assert all(text in shown for text in ROWS.values()), shown
        for name in ROWS:
            site.clouds[name].clear_faults()
        for name in ROWS:
            requestor.wait_for(requests[name], seconds=SERVED)
            eventually(partial(_is_well, site, name), SERVED)
            assert len(site.clouds[name].calls(CREATE)) == 1, "no server is thrown away for it"
