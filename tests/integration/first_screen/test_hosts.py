# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Something is wrong with the launcher's host, not with the cloud: the first screen names file, host and remedy."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame import heartbeat
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_clock import TreeClock
from tests.support.first_screen import (
    PATIENCE,
    Trouble,
    assert_named,
    assert_named_while_a_launcher_works,
    usual,
    view_of,
)
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site

BEHIND = 3725.0
UNKNOWN = "statsd.exmaple"
FILE = "correct the file that is named"


def somebody_breaks_the_file(site: Site) -> None:
    site.config.write_text("labels: 7\n", encoding="utf-8")


def somebody_breaks_clouds_yaml(site: Site) -> None:
    site.clouds_yaml.write_text("clouds: [\n", encoding="utf-8")


def somebody_removes_the_entry(site: Site) -> None:
    site.clouds_yaml.write_text("clouds: {}\n", encoding="utf-8")


def nothing(site: Site) -> None:
    """It is wrong from the beginning."""


FILES: dict[Callable[[Site], None], Trouble] = {
    somebody_breaks_the_file: Trouble(("nodepool.yaml:1: labels: is the number 7",), FILE),
    somebody_breaks_clouds_yaml: Trouble(("clouds.yaml",), FILE),
    somebody_removes_the_entry: Trouble(("clouds.yaml", "'one'"), FILE),
}


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_file_that_cannot_be_used(site: Site, make: Callable[[Site], None]) -> None:
    assert_named_while_a_launcher_works(site, make, FILES[make])


def test_a_launcher_that_has_ended(site: Site) -> None:
    usual(site)
    with site.stay() as cycle:
        eventually(cycle.acts, PATIENCE)
    assert_named(view_of(site), Trouble(("one", "no launcher serves this provider"), "start the launcher, or see why"))


def test_a_clock_that_is_wrong(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "EVERY", 0.5)
    monkeypatch.setattr(TreeClock.__init__, "__defaults__", (lambda: time.time() - BEHIND,))
    told = (socket.gethostname(), "1 h 2 min behind that of ZooKeeper")
    assert_named_while_a_launcher_works(site, nothing, Trouble(told, "synchronize the clock of that host"))


def test_a_statsd_that_nobody_knows(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are launched as always, and the line comes once."""
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        if host == UNKNOWN:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setenv("STATSD_HOST", UNKNOWN)
    usual(site)
    told = (socket.gethostname(), f"the host '{UNKNOWN}' of STATSD_HOST cannot be resolved")
    with site.stay() as cycle:
        site.requestor.wait_for(site.requestor.ask("small"), seconds=PATIENCE)
        assert_named(view_of(site), Trouble(told, "correct STATSD_HOST in the environment"))
    assert len([line for line in cycle.lines if UNKNOWN in line]) == 1
