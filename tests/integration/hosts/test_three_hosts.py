# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three launchers, each a process with a folder of session files of its own, as on three hosts."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.support.ansible_run import ModuleProcess, run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.web_service import running

HOSTS = ("a", "b", "c")
NAMES = ("one", "two", "three", "four", "five", "six")
STARTED = 120.0
"""Seconds that are enough on a busy machine."""

pytestmark = pytest.mark.long


class Hosts:
    """The launchers by the name of their host."""

    def __init__(self, site: Site, stack: ExitStack) -> None:
        self._site = site
        self._stack = stack
        self.processes: dict[str, ModuleProcess] = {}

    def start(self, host: str, **more: Any) -> None:
        """Start the launcher of a host."""
        folder = self._site.folder / host
        folder.mkdir(mode=0o700, exist_ok=True)
        options = {**self._site.files(), "until": "deadline", "duration": 600, "state_dir": str(folder), **more}
        options["progress_file"] = str(folder / "progress")
        process = ModuleProcess("node_launch", options, folder)
        self.processes[host] = self._stack.enter_context(process)

    def shares(self) -> dict[str, int]:
        """Host → the number of providers that it acts for."""
        requestor, found = self._site.requestor, Counter[str]()
        for name in NAMES:
            path = f"/nodepool/stackci/providers/{name}"
            if requestor.children(f"{path}/lock"):
                found[(requestor.read(path) or {}).get("host", "?").rpartition("/")[2]] += 1
        return dict(found)

    def lines(self, host: str) -> list[str]:
        """What its launcher has told."""
        text = (self._site.folder / host / "progress").read_text("utf-8")
        return [json.loads(line)["line"] for line in text.splitlines()]


@contextmanager
def three(site: Site, **more: Any) -> Iterator[Hosts]:
    """Three hosts that share six providers."""
    with ExitStack() as stack:
        hosts = Hosts(site, stack)
        for host in HOSTS:
            hosts.start(host, **more)
        eventually(lambda: hosts.shares() == dict.fromkeys(HOSTS, 2), STARTED)
        yield hosts


def configure(site: Site, names: tuple[str, ...] = NAMES, **more: Any) -> None:
    providers = [provider(name, pool("main", label("small"), max_servers=20)) for name in names]
    site.configure(*providers, zookeeper_timeout=4.0, **more)


def test_three_hosts_share_the_work_and_the_loss_of_one_loses_nothing(site: Site):
    configure(site)
    requestor = site.requestor
    with three(site) as hosts:
        requests = [requestor.ask("small") for _number in range(24)]
        hosts.processes["a"].kill()
        for request in requests:
            requestor.wait_for(request, seconds=STARTED)
        eventually(lambda: hosts.shares() == {"b": 3, "c": 3}, STARTED)
        hosts.start("a")
        eventually(lambda: hosts.shares() == dict.fromkeys(HOSTS, 2), STARTED)
        assert any("handed over to" in line for host in "bc" for line in hosts.lines(host))
        assert any("standing by" in line for line in hosts.lines("a"))
        shown = run_alone("provider_info", {"config": str(site.config)}, site.folder).result["providers"]
        assert all(row["acting"] and row["standing_by"] for row in shown)
        who = f"served by {shown[0]['acted_for_by'][0]}, {shown[0]['standing_by'][0]} stands by"
        lines = run_alone("nodepool_status", {"config": str(site.config), "width": 200}, site.folder).result["lines"]
        assert sorted(line.strip() for line in lines if "stands by" in line) == [
            f"{name}: {who}" for name in sorted(NAMES)
        ]
        with running(site.config) as service:
            page = eventually(lambda: found if "standing by: " in (found := service.get("/").text) else None, STARTED)
        assert page.count(f"standing by: {shown[0]['standing_by'][0]}") == len(NAMES)
    assert sum(len(cloud.servers()) for cloud in site.clouds.values()) == len(requests)


def test_min_ready_and_the_limit_of_a_tenant_are_exact_whoever_acts(site: Site):
    configure(
        site,
        labels={"small": {"min-ready": 5}},
        tenant_resource_limits=[{"tenant-name": "t", "max-servers": 7}],
    )
    requestor = site.requestor

    with three(site) as hosts:
        eventually(lambda: spares(site) == 5, STARTED)
        hosts.processes["b"].send_signal(signal.SIGTERM)
        hosts.processes["c"].kill()
        waiting = [requestor.ask("small", tenant="t", provider=NAMES[number % 6]) for number in range(24)]
        hosts.start("b")
        hosts.start("c")
        eventually(lambda: sum(requestor.state(one) == "fulfilled" for one in waiting) == 7, STARTED)
        assert served_at_most(site, waiting) == 7
        eventually(lambda: spares(site) == 5, STARTED)


def test_five_hosts_of_different_weights_for_two_providers(site: Site):
    """Three of them only stand by."""
    configure(
        site,
        names=NAMES[:2],
        labels={"small": {"min-ready": 5}},
        tenant_resource_limits=[{"tenant-name": "t", "max-servers": 25}],
    )
    with ExitStack() as stack:
        hosts = Hosts(site, stack)
        for weight, host in enumerate("abcde", 1):
            hosts.start(host, weight=float(weight))
        eventually(lambda: sorted(hosts.shares().values()) == [1, 1] and spares(site) == 5, STARTED)
        acting = sorted(hosts.shares())
        waiting = [site.requestor.ask("small", tenant="t", provider=NAMES[number % 2]) for number in range(40)]
        hosts.processes[acting[0]].kill()
        assert served_at_most(site, waiting) <= 25
        eventually(lambda: sum(hosts.shares().values()) == 2 and spares(site) == 5, STARTED)
        assert acting[0] not in hosts.shares()


def test_a_provider_moves_from_the_file_of_a_host_to_that_of_another(site: Site):
    """As large sites have them: a file for each host, with the same labels."""
    with ExitStack() as stack:
        hosts = Hosts(site, stack)

        def give(host: str, *names: str) -> str:
            configure(site, names=names, labels={"small": {"min-ready": 5}})
            file = site.folder / f"{host}.yaml"
            file.write_text(site.config.read_text("utf-8"), "utf-8")
            return str(file)

        for host, names in (("a", NAMES[:3]), ("b", NAMES[3:])):
            hosts.start(host, config=give(host, *names))
        eventually(lambda: hosts.shares() == {"a": 3, "b": 3} and spares(site) == 5, STARTED)
        nodes = set(site.requestor.nodes())
        give("b", *NAMES[2:])
        eventually(lambda: any("three: standing by" in line for line in hosts.lines("b")), STARTED)
        give("a", *NAMES[:2])
        eventually(lambda: hosts.shares() == {"a": 2, "b": 4}, STARTED)
        request = site.requestor.ask("small", provider=NAMES[2])
        site.requestor.wait_for(request, seconds=STARTED)
        eventually(lambda: spares(site) == 5, STARTED)
        assert nodes <= set(site.requestor.nodes()), "no node is lost"


def spares(site: Site) -> int:
    nodes = site.requestor.nodes().values()
    return sum(1 for one in nodes if one["state"] == "ready" and one["allocated_to"] is None)


def served_at_most(site: Site, waiting: list[str]) -> int:
    """Use and give back what the requests of tenant t get until all are served; return the most that it ever had."""
    requestor, most, given = site.requestor, 0, set[str]()
    while len(given) < len(waiting):

        def served() -> list[str]:
            nonlocal most
            nodes = requestor.nodes().values()
            most = max(most, sum(1 for one in nodes if one["tenant_name"] == "t" and one["state"] != "deleting"))
            return [one for one in waiting if one not in given and requestor.state(one) == "fulfilled"]

        for request in eventually(served, STARTED):
            given.add(request)
            requestor.give_back(*requestor.accept(request))
    return most
