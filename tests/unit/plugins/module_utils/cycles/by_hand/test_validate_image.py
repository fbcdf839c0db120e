# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test by hand that could not be made fails, because a playbook revokes the build of one that has not passed."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import PlaybookEnd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.gate_nodes import (
    GateNodes,
    Refused,
    TakenNode,
    Waiting,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand import validate_image
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.validate_image import (
    NotTested,
    Wish,
    validate,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import DeadlineExceeded
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.build_case import build_id, uploaded

NEW, OLD = build_id(2), build_id(1)


class Case:
    """What *answers* say of the request, one by one; the last one again and again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any, end: PlaybookEnd) -> None:
        self.given: list[Any] = []
        self.deleted: list[str] = []
        self._answers: Iterator[Any] = iter([*answers[:-1], *[answers[-1]] * 1000])
        monkeypatch.setattr(GateNodes, "taken", lambda nodes, record: next(self._answers))
        monkeypatch.setattr(GateNodes, "give_back", lambda nodes, taken: self.given.append(taken))
        played = SimpleNamespace(run=lambda wanted: end)
        monkeypatch.setattr(validate_image, "playbook_for", lambda *about: played)

    def run(self, *clock: float, **wish: Any) -> Any:
        times = iter(clock)
        requests = SimpleNamespace(
            create=lambda request, **options: setattr(request, "id", "100-1"), delete=self.deleted.append
        )
        images = SimpleNamespace(
            ready_uploads=lambda *where, unused: [SimpleNamespace(build_id=each) for each in (NEW, OLD)]
        )
        verdicts = SimpleNamespace(of_image=lambda image: {})
        store: Any = SimpleNamespace(requests=requests, images=images, verdicts=verdicts)
        return validate(
            store,
            parse_config(yaml.safe_dump(uploaded())),
            Wish(image="built", playbook="/smoke.yml", log="/log", **wish),
            clock=lambda: next(times, 5e9),
            steady=iter(map(float, range(10**6))).__next__,
            sleeper=lambda seconds: None,
        )


def taken(build: str = NEW, *, valid: bool = True) -> TakenNode:
    node = Node(id="0000000007", image_id=f"/nodepool/images/built/builds/{build}/providers/east/images/0000000001")
    held: Any = SimpleNamespace(valid=valid)
    return TakenNode(node, held)


FAILED = PlaybookEnd(False, "task 'DNS': no answer")


@pytest.mark.parametrize(
    ("answer", "end", "build", "why"),
    [
        (taken(), PlaybookEnd(False, "ansible-runner is not installed", ours=True), None, "runner is not installed"),
        (taken(valid=False), FAILED, None, "session was lost during the test.* task 'DNS': no answer"),
        (taken(), FAILED, OLD, f"made node 0000000007 from build {NEW}: update the launcher of east"),
        (Refused("no room", tried=False), FAILED, None, "no node: no room"),
        (None, FAILED, None, "request 100-1 or its node was deleted before the test"),
    ],
)
def test_what_says_nothing_about_the_image_is_an_error(
    monkeypatch: pytest.MonkeyPatch, answer: Any, end: PlaybookEnd, build: str | None, why: str
) -> None:
    case = Case(monkeypatch, answer, end=end)
    with pytest.raises(NotTested, match=why):
        case.run(build_id=build)
    assert case.deleted == ["100-1"]
    assert case.given == ([answer] if isinstance(answer, TakenNode) else [])


@pytest.mark.parametrize(
    ("answer", "end", "reason"),
    [
        (taken(), FAILED, "task 'DNS': no answer"),
        (taken(), PlaybookEnd(True), ""),
        (taken(valid=False), PlaybookEnd(True), ""),
        (Refused("3 launches failed: no ssh"), FAILED, "no node: 3 launches failed: no ssh"),
    ],
)
def test_what_became_of_the_node_is_the_result(
    monkeypatch: pytest.MonkeyPatch, answer: Any, end: PlaybookEnd, reason: str
) -> None:
    found = Case(monkeypatch, Waiting("no room yet"), answer, end=end).run()
    assert (found.end.passed, found.end.reason, found.label) == (not reason, reason, "small")


def test_a_clock_that_is_set_ends_no_wait_for_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of day jumps by a year after the request."""
    case = Case(monkeypatch, *[Waiting("no room yet")] * 5, taken(), end=PlaybookEnd(True))
    assert case.run(1e9, 1e9 + 3e7, wait=20.0).end.passed
    with pytest.raises(DeadlineExceeded, match="got no node within 20 s: no room yet"):
        Case(monkeypatch, Waiting("no room yet"), end=PlaybookEnd(True)).run(wait=20.0)
