# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat file: what it says, how often it is touched, and that it never gets in the way."""

from __future__ import annotations

import json
import os

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.proc import process
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import SERVING
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.control import controlled
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.heartbeat_file import Heartbeat


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def read(path):
    return json.loads(path.read_text("utf-8"))


def test_it_names_the_process_and_its_state(tmp_path):
    file, me = tmp_path / "heart", process(os.getpid())
    assert me is not None
    with Heartbeat(str(file)) as heartbeat:
        assert read(file) == {"pid": os.getpid(), "started": me.started, "state": "starting"}
        heartbeat.beat(SERVING)
        assert read(file)["state"] == "serving"
    assert read(file)["state"] == "ended"
    assert [path.name for path in tmp_path.iterdir()] == ["heart"]


def test_a_beat_touches_the_file_once_a_second_at_most(tmp_path):
    file, clock = tmp_path / "heart", Clock()
    heartbeat = Heartbeat(str(file), clock)
    heartbeat.beat(SERVING)
    os.utime(file, (0, 0))
    clock.now += 0.9
    heartbeat.beat(SERVING)
    assert file.stat().st_mtime == 0
    clock.now += 0.1
    heartbeat.beat(SERVING)
    assert file.stat().st_mtime > 0


def test_a_new_state_is_written_at_once(tmp_path):
    file, clock = tmp_path / "heart", Clock()
    heartbeat = Heartbeat(str(file), clock)
    heartbeat.beat("standing by")
    heartbeat.beat("serving")
    assert read(file)["state"] == "serving"


def test_a_folder_that_is_gone_is_no_reason_to_stop_and_one_that_comes_back_is_used(tmp_path):
    folder = tmp_path / "gone"
    heartbeat = Heartbeat(str(folder / "heart"))
    heartbeat.beat(SERVING)
    folder.mkdir()
    heartbeat.beat(SERVING)
    assert read(folder / "heart")["state"] == "serving"


def test_without_a_file_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Heartbeat(None) as heartbeat:
        heartbeat.beat(SERVING)
    assert list(tmp_path.iterdir()) == []


def test_whoever_has_a_stop_beats_with_it(tmp_path):
    file = tmp_path / "heart"
    with controlled(None, str(file)) as stop:
        assert read(file)["state"] == "starting"
        stop.beat(SERVING)
        assert read(file)["state"] == "serving"
    assert read(file)["state"] == "ended"


def test_a_device_is_not_replaced(tmp_path):
    null = tmp_path / "null"
    null.symlink_to("/dev/null")
    with Heartbeat(str(null)) as heartbeat:
        heartbeat.beat(SERVING)
    assert null.is_symlink() and [path.name for path in tmp_path.iterdir()] == ["null"]
