# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From changes of a tree to events, without a ZooKeeper."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import (
    CONNECTED,
    SUSPENDED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import ConfigOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.follower import (
    Follower,
    Memory,
    Wanted,
    follow,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.happenings import Limits
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Picture
from tests.support.tree_reading import tree_of
from tests.support.web_case import StillSession, WebCase

FAILED = b'{"state": "failed", "node_types": ["small"], "state_time": 1}'
PATH = f"{paths.REQUESTS}/100-0000000001"


class Case:
    """A follower over a tree that the test changes."""

    def __init__(self, documents=None, **how):
        self.web = WebCase(documents or {})
        self.events: list[Any] = []
        self.follower = Follower(Limits(settle=0.0), self.events.append, **how)

    def look(self):
        self.events.clear()
        self.follower.look(self.web.picture.snapshot())
        return [event["type"] for event in self.events]


def test_a_change_is_an_event_once():
    case = Case()
    assert case.look() == []
    case.web.session.put(PATH, FAILED)
    assert case.look() == ["request_failed"]
    assert case.look() == []


def test_without_zookeeper_what_is_known_stays_and_the_loss_is_told(monkeypatch):
    case = Case(lost_after=0.0)
    case.look()
    case.web.session.turn(SUSPENDED)
    assert case.look() == ["zookeeper_lost"]
    assert "reconnecting" in case.events[0]["text"]
    assert case.look() == []
    case.web.session.turn(CONNECTED)
    case.web.session.put(PATH, FAILED)
    assert case.look() == ["zookeeper_back", "request_failed"]


def test_a_short_loss_is_no_event():
    case = Case(lost_after=3600.0)
    case.look()
    case.web.session.turn(SUSPENDED)
    assert case.look() == []


def test_only_what_is_wanted_is_told():
    wanted = Wanted(types=["request_failed"], providers=["east"])
    assert wanted.takes({"type": "request_failed", "provider": "east"})
    assert wanted.takes({"type": "request_failed"})
    assert not wanted.takes({"type": "request_failed", "provider": "west"})
    assert not wanted.takes({"type": "request_waits"})
    case = Case(wanted=Wanted(types=["request_waits"]))
    case.look()
    case.web.session.put(PATH, FAILED)
    assert case.look() == []


def test_a_type_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ConfigError, match=r"there is no event request_fialed; there are .*request_failed"):
        Wanted(types=["request_fialed"])


def test_the_memory_survives_a_restart(tmp_path):
    path = tmp_path / "told.json"
    first = Case(memory=Memory(str(path)))
    first.look()
    second = Case(memory=Memory(str(path)))
    second.web.session.put(PATH, FAILED)
    assert second.look() == ["request_failed"], "it has failed while nobody was listening"
    third = Case({PATH: {"state": "failed", "node_types": ["small"]}}, memory=Memory(str(path)))
    assert third.look() == []


def test_a_memory_keeps_the_fields_of_an_end_and_reads_one_without_them(tmp_path):
    path = tmp_path / "told.json"
    told = {("provider_in_trouble", "east"): {"provider": "east"}, ("request_failed", "1"): {}}
    Memory(str(path)).write(told)
    assert Memory(str(path)).read() == told
    path.write_text('[["request_failed", "1"], ["leak_found", "x", 7]]')
    assert Memory(str(path)).read() == {("request_failed", "1"): {}, ("leak_found", "x"): {}}


@pytest.mark.parametrize("text", [b"", b"{", b"{}", b"\xff"])
def test_a_memory_that_cannot_be_read_is_none_and_a_line_says_so(tmp_path, text):
    said: list[str] = []
    path = tmp_path / "told.json"
    path.write_bytes(text)
    assert Memory(str(path), said.append).read() is None
    (line,) = said
    assert line.startswith(f"state_file: {path} holds no list of what was told: what lasts is told again")


def test_a_device_or_pipe_is_no_memory(tmp_path):
    """It would be replaced by a file, or waited for."""
    pipe, null = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for path in (pipe, null):
        with pytest.raises(OSError, match="is not a regular file: name another one"):
            Memory(str(path)).begin()


def test_a_memory_that_is_not_there_is_a_first_start(tmp_path):
    said: list[str] = []
    assert Memory(str(tmp_path / "told.json"), said.append).read() is None
    assert Memory("", said.append).read() is None
    (tmp_path / "told.json").write_text("[7]")
    assert Memory(str(tmp_path / "told.json"), said.append).read() == {}
    assert said == []


def test_the_tree_is_followed_until_it_is_told_to_stop(tmp_path, monkeypatch):
    config = tmp_path / "nodepool.yaml"
    config.write_text('{"zookeeper-servers": [{"host": "localhost"}], "labels": []}')
    session, stop, events = StillSession(tree_of({})), threading.Event(), []

    def tell(event):
        events.append(event)
        stop.set()

    def picture(settings):
        return Picture(settings, session=session)

    follower = Follower(Limits(), tell)
    thread = threading.Thread(
        target=follow,
        args=(ConfigOptions(config=str(config)), follower, stop),
        kwargs={"every": 0.01, "picture": picture},
    )
    looked = threading.Event()
    look = follower.look

    def noted(snapshot):
        look(snapshot)
        if snapshot.contact.connected:
            looked.set()

    monkeypatch.setattr(follower, "look", noted)
    thread.start()
    assert looked.wait(60)
    session.put(PATH, FAILED)
    thread.join(60)
    assert not thread.is_alive()
    assert [event["type"] for event in events] == ["request_failed"]


def test_a_memory_that_cannot_be_written_is_told_once_leaves_no_files_and_is_written_later(tmp_path):
    folder, said, told = tmp_path / "state", list[str](), {("leak_found", "x"): {"provider": "west"}}
    path = folder / "told.json"
    folder.mkdir()
    path.mkdir()
    memory = Memory(str(path), said.append)
    memory.write(told)
    memory.write(told)
    assert [file.name for file in folder.iterdir()] == ["told.json"]
    path.rmdir()
    memory.write(told)
    assert Memory(str(path)).read() == told
    assert len(said) == 2 and said[1] == f"state_file: {path} can be written again"
    assert said[0].startswith(f"state_file: {path} cannot be written: Is a directory")
