# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose sessions are ended, and whose never."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session_file import (
    SessionFolder,
    SessionNote,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.handover import FORGET, Handover
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)

SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("zk1", 2181),))
NOW = 1e12
"""Long after everything."""


class Room:
    """A folder with what others left in it."""

    def __init__(self, path):
        self.path = str(path)
        self.folder = SessionFolder(self.path, SETTINGS)
        self.ended = []
        self.lines = []
        self.answers = True
        self.dead = replace(SessionNote.of_this_process((7, b"secret")), pid=2**22 + 1)

    def leave(self, word, *, alive=False):
        file = self.folder.make()
        if isinstance(word, bytes):
            os.pwrite(file._fd, word, 0)
        else:
            file.write(word)
        if not alive:
            file.leave()
        return file

    def handover(self):
        def end(settings, identity):
            assert settings is SETTINGS
            self.ended.append(identity)
            return self.answers

        return Handover(self.path, SETTINGS, say=self.lines.append, end=end)


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path / "state")


def test_the_session_of_the_dead_is_ended_once_and_its_file_goes(room):
    room.leave(room.dead)
    with room.handover() as handover:
        handover.close_dead_sessions(NOW)
        handover.close_dead_sessions(NOW)
        assert room.ended == [(7, b"secret")]
        assert len(room.folder.names()) == 1, "our own"
        assert "secret" not in " ".join(room.lines) and str(room.dead.pid) in room.lines[0]
    assert room.folder.names() == []


def test_the_living_are_left_alone(room):
    room.leave(room.dead, alive=True)
    with room.handover() as handover:
        handover.close_dead_sessions(NOW)
        assert room.ended == []
        assert len(room.folder.names()) == 2


def test_whoever_is_still_seen_is_left_alone_although_the_file_is_free(room):
    room.leave(SessionNote.of_this_process((8, b"x")))
    with room.handover() as handover:
        handover.close_dead_sessions(NOW)
        assert room.ended == []
        assert len(room.folder.names()) == 2


def test_another_hosts_word_is_not_acted_on_and_forgotten_after_a_while(room):
    file = room.leave(replace(room.dead, boot="another host"))
    written = os.stat(os.path.join(room.path, file.name)).st_mtime
    with room.handover() as handover:
        handover.close_dead_sessions(written + FORGET - 1)
        assert len(room.folder.names()) == 2
        handover.close_dead_sessions(written + FORGET + 1)
        assert len(room.folder.names()) == 1
        assert room.ended == []


def test_old_files_of_other_trees_go_at_the_beginning(room):
    other = SessionFolder(room.path, replace(SETTINGS, servers=(ZooKeeperServer("zk1", 2181, "/other"),)))
    file = other.make()
    file.write(room.dead)
    file.leave()
    path = os.path.join(room.path, file.name)
    with room.handover():
        assert os.path.exists(path)
    written = os.stat(path).st_mtime
    os.utime(path, (written, written - 2 * FORGET))
    with room.handover():
        assert not os.path.exists(path)
    assert room.ended == [], "it is unknown where that session is"


def test_nonsense_is_swept_away(room):
    room.leave(b"{")
    with room.handover() as handover:
        handover.close_dead_sessions(NOW)
        assert room.ended == []
        assert len(room.folder.names()) == 1


def test_a_zookeeper_that_does_not_answer_is_asked_again_later(room):
    room.leave(room.dead)
    room.answers = False
    with room.handover() as handover:
        handover.close_dead_sessions(NOW)
        handover.close_dead_sessions(NOW + 1)
        assert len(room.ended) == 1
        room.answers = True
        handover.close_dead_sessions(NOW + 60)
        assert len(room.ended) == 2
        assert len(room.folder.names()) == 1


def test_no_folder_no_hand_over(tmp_path, room):
    for path in (None, "", str(tmp_path / "no" / "where")):
        with Handover(path, SETTINGS, say=room.lines.append) as handover:
            handover.begin(Mock(spec=Store))
            handover.close_dead_sessions(NOW)
    assert len(room.lines) == 1 and "cannot be used as state_dir" in room.lines[0]


def test_each_session_is_noted(room):
    store = SimpleNamespace(generation=1, identity=(1, b"a"), on_change=lambda call: None)
    with room.handover() as handover:
        handover._store = store
        (name,) = room.folder.names()
        for number in (1, 2):
            store.generation, store.identity = number, (number, b"a")
            handover._write_note()
            with open(os.path.join(room.path, name), "rb") as file:
                assert SessionNote.parse(file.read()).session_id == number
        store.generation, store.identity = 3, None
        handover._write_note()
        with open(os.path.join(room.path, name), "rb") as file:
            assert SessionNote.parse(file.read()).session_id == 2


def test_a_full_disk_costs_the_quick_hand_over_and_nothing_else(room, monkeypatch):
    """The file can be made, but nothing can be written into it."""

    def full(_fd, _data, _offset):
        raise OSError(28, "No space left on device")

    store = Mock(spec=Store, identity=(8, b"ours"), generation=1)
    monkeypatch.setattr(os, "pwrite", full)
    with room.handover() as handover:
        handover.begin(store)
        why = f"{room.path}: No space left on device: check the folder"
        assert room.lines == [f"no quick hand-over after a crash: {why}"]
    assert room.folder.names() == []
