# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal: whole lines only, whatever others and the disk do to the file."""

from __future__ import annotations

import fcntl
import json
import os
import resource
from contextlib import contextmanager

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.events import journal as module
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.journal import Journal

EVENT = {"type": "request_failed", "subject": "1", "text": "ümläut"}


def event(number):
    return {**EVENT, "subject": str(number)}


def subjects(path):
    return [json.loads(line)["subject"] for line in path.read_text("utf-8").splitlines()]


@contextmanager
def room(size):
    """No file of this process may be larger; a write at the border is done in part."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


def test_each_event_is_a_line(path):
    journal = Journal(str(path))
    journal.add(EVENT)
    journal.add(event(2))
    assert subjects(path) == ["1", "2"]
    assert "ümläut" in path.read_text("utf-8")


def test_a_full_journal_becomes_the_former_one(path):
    journal = Journal(str(path), most_bytes=150)
    for number in range(5):
        journal.add(event(number))
    assert path.stat().st_size <= 150
    assert path.with_suffix(".jsonl.1").stat().st_size <= 150
    assert subjects(path)[-1] == "4"


def test_without_room_events_wait_and_are_written_in_order_and_once_when_there_is_room(path):
    said: list[str] = []
    journal = Journal(str(path), said.append)
    journal.add(event(1))
    with room(path.stat().st_size + 20):
        journal.add(event(2))
        journal.add(event(3))
        # No part of a line stays.
        assert subjects(path) == ["1"]
    assert said == [f"journal: {path} cannot be written: File too large: up to 1000 events wait for it"]
    journal.write_waiting()
    journal.add(event(4))
    assert subjects(path) == ["1", "2", "3", "4"]
    assert said[1:] == [f"journal: {path} can be written again: 2 events waited"]


def test_so_many_events_wait_that_memory_is_bounded_and_the_others_are_counted(path, monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    said: list[str] = []
    journal = Journal(str(path), said.append)
    with room(10):
        for number in range(3):
            journal.add(event(number))
    journal.add(event(3))
    assert subjects(path) == ["2", "3"]
    assert said[1:] == [f"journal: {path} can be written again: 2 events waited, 2 older ones lost"]


def test_what_waits_at_the_end_is_told(path):
    said: list[str] = []
    journal = Journal(str(path), said.append)
    with room(10):
        journal.add(EVENT)
        journal.close()
    assert said[1:] == [f"journal: {path} lacks 1 event at the end: it cannot be written: File too large"]


def test_others_may_rename_remove_and_bring_back_file_and_folder(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    path = folder / "events.jsonl"
    said: list[str] = []
    journal = Journal(str(path), said.append)
    journal.add(event(1))
    path.rename(folder / "events.jsonl.old")
    journal.add(event(2))
    path.unlink()
    journal.add(event(3))
    assert subjects(path) == ["3"]
    folder.rename(tmp_path / "elsewhere")
    journal.add(event(4))
    folder.mkdir()
    path.mkdir()
    journal.add(event(5))
    path.rmdir()
    journal.add(event(6))
    assert subjects(path) == ["4", "5", "6"]
    assert said == [
        f"journal: {path} cannot be written: No such file or directory: up to 1000 events wait for it",
        f"journal: {path} cannot be written: Is a directory: up to 1000 events wait for it",
        f"journal: {path} can be written again: 3 events waited",
    ]


def test_half_a_line_of_a_killed_process_spoils_no_other(path):
    path.write_text('{"type": "reque', "utf-8")
    Journal(str(path)).add(EVENT)
    assert json.loads(path.read_text("utf-8").splitlines()[1]) == EVENT


def test_another_writer_is_waited_for_and_a_file_that_it_has_renamed_is_not_used(path):
    held: list[int] = []

    def other_writer_ends(_seconds):
        if held:
            path.rename(path.with_suffix(".old"))
            os.close(held.pop())

    journal = Journal(str(path), pause=other_writer_ends)
    held.append(os.open(path, os.O_WRONLY | os.O_CREAT))
    fcntl.flock(held[0], fcntl.LOCK_EX)
    journal.add(EVENT)
    assert subjects(path) == ["1"]
    assert path.with_suffix(".old").stat().st_size == 0


def test_a_writer_that_keeps_the_file_is_told(path):
    said: list[str] = []
    journal = Journal(str(path), said.append, pause=lambda _seconds: None)
    other = os.open(path, os.O_WRONLY | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)
    journal.add(EVENT)
    os.close(other)
    journal.add(event(2))
    assert subjects(path) == ["1", "2"]
    assert "other programs write or rename it all the time" in said[0]


def test_a_pipe_that_nobody_reads_ends_nothing(path):
    os.mkfifo(path)
    journal = Journal(str(path))
    journal.begin()
    journal.add(EVENT)


def test_a_name_that_cannot_be_given_to_the_full_journal_is_told(path):
    said: list[str] = []
    path.with_suffix(".jsonl.1").mkdir()
    journal = Journal(str(path), said.append, most_bytes=100)
    journal.add(event(1))
    journal.add(event(2))
    assert said == [f"journal: {path} cannot be written: Is a directory (as {path}.1): up to 1000 events wait for it"]
