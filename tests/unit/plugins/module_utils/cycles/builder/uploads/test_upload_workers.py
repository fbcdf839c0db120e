# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The threads of the uploads cycle."""

from __future__ import annotations

import threading
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_workers import (
    DELETION,
    UPLOAD,
    UploadWorkers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox

A, B, C = ("1", "one"), ("2", "one"), ("3", "two")


def test_each_provider_has_its_own_room() -> None:
    inbox, go, got = Inbox(), threading.Event(), []
    workers = UploadWorkers(inbox, {UPLOAD: 2, DELETION: 1})

    def take(outcome: Any) -> None:
        got.append((outcome, len(workers.keys)))

    def work(result: str) -> str:
        assert go.wait(10)
        return result

    workers.start(UPLOAD, A, lambda: work("a"), take)
    assert workers.has_room(UPLOAD, "one")
    workers.start(UPLOAD, B, lambda: work("b"), take)
    assert not workers.has_room(UPLOAD, "one") and workers.has_room(UPLOAD, "two") and workers.has_room(DELETION, "one")
    workers.start(DELETION, C, lambda: work("c"), take)
    assert not workers.has_room(DELETION, "two") and workers.has_room(UPLOAD, "two")
    assert workers.keys == {A, B, C}
    go.set()
    while len(got) < 3:
        assert inbox.take(10)
    # Each was forgotten before it was handed over.
    assert sorted(outcome for outcome, _left in got) == ["a", "b", "c"]
    assert [left for _outcome, left in got] == [2, 1, 0]


def test_an_exception_is_handed_over() -> None:
    inbox = Inbox()
    got: list[str | Exception] = []
    workers = UploadWorkers(inbox, {UPLOAD: 1})

    def broken() -> str:
        raise RuntimeError("a defect")

    workers.start(UPLOAD, A, broken, got.append)
    assert inbox.take(10)
    assert [str(problem) for problem in got] == ["a defect"]
    assert workers.keys == frozenset()
