# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of a launcher in a real ZooKeeper, over two cycles."""

from __future__ import annotations

import socket
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.counts import counters_of
from tests.support.launcher_case import Site

PATH = f"/nodepool/stackci/counters/{socket.gethostname()}-launcher"


def counted(site: Site, family: str) -> Any:
    """Label values → numbers."""
    return counters_of(site.requestor.read(PATH)).series[family]


def test_a_second_cycle_goes_on_counting_where_the_first_ended(site: Site):
    site.configure()
    calls = 0
    for number in (1, 2):
        request = site.requestor.ask("small")
        result = site.run()
        assert site.requestor.state(request) == "fulfilled"
        assert counted(site, "launches") == {("one", "main", "ready", ""): [number]}
        for family in ("request_ready_seconds", "server_active_seconds", "server_reachable_seconds"):
            numbers = counted(site, family)["one", "main"]
            assert sum(numbers[:-1]) == number and numbers[-1] > 0
        calls += sum(result["api_calls"]["one"]["POST /servers"].values())
        assert counted(site, "api_calls")["one", "POST", "/servers", "202"] == [calls] == [number]
    assert site.requestor.read(PATH)["ended"] > 0
