# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Auxiliary calls have threads of their own, and none waits for another one."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider import auxiliary_lane
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import (
    AUXILIARY_SECONDS,
    MOST_AUXILIARY,
    ApiTimeouts,
)


class Workers:
    """Stands in for a WorkerSet: the test answers."""

    def __init__(self, _name: str, _inbox: Inbox, **options: Any) -> None:
        self.options = options
        self.jobs: list[Any] = []
        self.exhausted = False

    def submit(self, _what: str, _work: Any, done: Any) -> None:
        self.jobs.append(done)


@pytest.fixture
def lane(monkeypatch: pytest.MonkeyPatch) -> auxiliary_lane.AuxiliaryLane:
    monkeypatch.setattr(auxiliary_lane, "WorkerSet", Workers)
    return auxiliary_lane.AuxiliaryLane("east", cast("Inbox", None), ApiTimeouts(30.0), lambda _ident: 0.0)


def test_as_many_calls_as_threads_and_no_more(lane: auxiliary_lane.AuxiliaryLane) -> None:
    answers: list[Any] = []
    asked = [lane.ask("console", lambda: None, lambda *answer: answers.append(answer)) for _unused in range(9)]
    assert asked == [True] * MOST_AUXILIARY + [False] * (9 - MOST_AUXILIARY)
    workers = cast("Workers", lane.workers)
    assert workers.options["size"] == MOST_AUXILIARY
    workers.jobs.pop()("text", None)
    assert answers == [("text", None)]
    assert lane.ask("console", lambda: None, lambda *answer: None)


def test_no_call_is_made_when_too_many_threads_hang(lane: auxiliary_lane.AuxiliaryLane) -> None:
    cast("Workers", lane.workers).exhausted = True
    assert not lane.ask("console", lambda: None, lambda *answer: None)


@pytest.mark.parametrize(("silence", "seconds"), [(30.0, AUXILIARY_SECONDS), (1.0, 1.0)])
def test_the_limit_of_a_call_is_short(monkeypatch: pytest.MonkeyPatch, silence: float, seconds: float) -> None:
    monkeypatch.setattr(auxiliary_lane, "WorkerSet", Workers)
    made = auxiliary_lane.AuxiliaryLane("east", cast("Inbox", None), ApiTimeouts(silence), lambda _ident: 0.0)
    assert made.seconds == seconds
