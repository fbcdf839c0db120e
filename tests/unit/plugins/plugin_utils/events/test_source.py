# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of the event source."""

from __future__ import annotations

import errno
import os
import threading
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events import source
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.source import checked, run


def test_the_defaults():
    found = checked({})
    assert found["config"] == "/etc/nodepool/nodepool.yaml"
    assert (found["wait_seconds"], found["types"], found["quota_left"]) == (300.0, [], 0.1)


def test_the_names_of_the_inventory_plugin_work_too():
    assert checked({"nodepool_config": "/x"})["config"] == "/x"
    assert checked({"types": "request_failed"})["types"] == ["request_failed"]
    assert checked({"wait_seconds": "60"})["wait_seconds"] == 60.0


@pytest.mark.parametrize(("arguments", "told"), [
    ({"wait_secs": 1}, r"wait_secs: there is no such argument; did you mean wait_seconds\?"),
    ({"x": 1}, "x: there is no such argument; there are config, every, journal, "),
    ({"types": [1]}, "types: must be a list of texts"),
    ({"wait_seconds": "soon"}, "wait_seconds: must be a number of seconds, 0 or more"),
    ({"wait_seconds": float("nan")}, "wait_seconds: must be"),
    ({"wait_seconds": True}, "wait_seconds: must be"),
    ({"every": 0}, "every: must be a number of seconds, 0.1 or more"),
    ({"quota_left": 5}, "quota_left: must be a share between 0 and 1"),
    ({"config": 7}, "config: must be a text"),
    ({"webhook": "ftp://x"}, "webhook: must begin with http"),
])  # fmt: skip
def test_what_cannot_be_used_is_told_with_its_name(arguments, told):
    with pytest.raises(ConfigError, match=told):
        checked(arguments)


def test_all_outlets_get_an_event_the_journal_first(monkeypatch, tmp_path):
    got = []

    def follow(_options, follower, _stop, **_how):
        follower.tell({"type": "request_failed", "subject": "1"})

    journal = tmp_path / "journal"
    monkeypatch.setattr(source, "follow", follow)
    run(
        {"journal": str(journal)},
        lambda event: got.append((event["subject"], journal.exists())),
        threading.Event(),
        print,
    )
    assert got == [("1", True)]


def test_a_journal_that_cannot_be_written_is_told_with_its_path(monkeypatch, tmp_path):
    def follow(_options, follower, _stop, **_how):
        follower.tell({"type": "request_failed", "subject": "1"})

    monkeypatch.setattr(source, "follow", follow)
    with pytest.raises(ConfigError, match=r"none/journal: cannot be written: No such file"):
        run({"journal": str(tmp_path / "none" / "journal")}, lambda _event: None, threading.Event(), print)


def test_a_disk_without_room_at_the_beginning_is_no_mistake_and_events_go_on(monkeypatch, tmp_path):
    def follow(_options, follower, _stop, **_how):
        follower.tell({"type": "request_failed", "subject": "1"})

    def full(*_words, **_how):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(source, "follow", follow)
    monkeypatch.setattr(os, "open", full)
    got: list[dict[str, Any]] = []
    said: list[str] = []
    run({"journal": str(tmp_path / "journal")}, got.append, threading.Event(), said.append)
    assert len(got) == 1
    assert [line.partition("/")[0] for line in said] == ["journal: ", "journal: "]


def test_a_state_file_that_cannot_be_written_is_told_with_its_path(tmp_path):
    with pytest.raises(ConfigError, match=r"none/told: cannot be written: No such file"):
        run({"state_file": str(tmp_path / "none" / "told")}, lambda _event: None, threading.Event(), print)
