# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page for people on a large site: how long its first view takes over loopback, and how much is sent."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import CONNECTED
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.rendering import static
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.routes import TYPES
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Picture
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Application
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError
from tests.support import busy_tree
from tests.support.tree_reading import tree_of
from tests.support.web_case import StillSession

NODES, REQUESTS = 6000, 1000
ROUNDS = 20
REST = 1.2
"""Seconds between two changes: rows that take long are not made anew more often than once in a second."""


@dataclass(frozen=True)
class WebPage:
    """A tree in memory, the real HTTP server, a client that opens a connection for each view."""

    name: str = "web-page"
    title: str = f"the page for people: {NODES:,} nodes, {REQUESTS:,} requests"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        now = time.time()
        session = StillSession(tree_of(busy_tree.documents(now, NODES, REQUESTS), busy_tree.locks(NODES)))
        picture = Picture(parse_config(busy_tree.config(NODES)), session=session)
        session.on_change(picture.changed)
        session.turn(CONNECTED)
        findings = Findings()
        application = Application(picture)
        began = time.monotonic()
        application.prepare()
        prepared = time.monotonic() - began
        with Listening(application, "127.0.0.1", 0) as listening:
            _passed, first_page, _tag = _view(listening.port, "/")
            rounds = 5 if quick else ROUNDS
            fresh = [_after_a_change(session, listening.port, number) for number in range(rounds)]
            again = [_view(listening.port, "/")[0] for _unused in range(rounds)]
            listed = [_view(listening.port, f"/nodes?state=ready&page={page}")[0] for page in range(1, rounds + 1)]
            tag = _view(listening.port, "/?fragment=1")[2]
            unchanged = [_view(listening.port, "/?fragment=1", tag)[0] for _unused in range(rounds)]
        weight = first_page + sum(len(static(name)) for name in TYPES)
        findings.add("before the first visitor: all records read", 1000 * prepared, "ms")
        findings.add("first view after a change, P50", 1000 * Spread.of(fresh).p50, "ms", at_most=300)
        findings.add("first view after a change, max", 1000 * max(fresh), "ms", at_most=300)
        findings.add("first view, nothing changed, P50", 1000 * Spread.of(again).p50, "ms", at_most=50)
        findings.add("a page of a filtered list, P50", 1000 * Spread.of(listed).p50, "ms", at_most=300)
        findings.add("update, nothing changed, P50", 1000 * Spread.of(unchanged).p50, "ms", at_most=5)
        findings.add("page, style, script and icon", weight / 1000, "kB", at_most=150)
        findings.details = {"fresh": fresh, "again": again, "listed": listed, "unchanged": unchanged}
        return findings


def _after_a_change(session: StillSession, port: int, number: int) -> float:
    """Seconds of a view that shows a request written before."""
    time.sleep(REST)
    ident = f"000-{ROUNDS - number:010d}"  # the first of the queue: the page shows it
    fresh: dict[str, Any] = {"state": "requested", "node_types": ["debian-12"], "state_time": time.time()}
    session.put(f"/nodepool/requests/{ident}", json.dumps(fresh).encode())
    return _view(port, "/", shows=ident)[0]


def _view(port: int, path: str, tag: str = "", shows: str = "") -> tuple[float, int, str]:
    """Seconds, bytes and the tag of an answer.

    :raises BenchError: it is not the one that was expected.
    """
    began = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
    answer = connection.getresponse()
    text = answer.read()
    passed = time.monotonic() - began
    connection.close()
    if answer.status != (304 if tag else 200) or shows.encode() not in text:
        raise BenchError(f"{path} answered {answer.status} with {len(text)} bytes and without {shows!r}")
    return passed, len(text), answer.headers["ETag"]
