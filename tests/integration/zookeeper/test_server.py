# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The private server as a command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import zookeeper_server
from tests.support.fixtures_zookeeper import eventually
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer, class_path

ROOT = Path(__file__).resolve().parents[3]


def run(state_dir, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.zookeeper_server", "--state-dir", str(state_dir), *arguments], cwd=ROOT
    )


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_it_leaves_nothing_behind(tmp_path, number):
    process = run(tmp_path)
    try:
        ready = tmp_path / "ready.json"
        eventually(ready.exists, 30)
        told = json.loads(ready.read_text())
        assert told["pid"] == process.pid
        assert alive(told["server_pid"])
        process.send_signal(number)
        process.wait(10)
        eventually(lambda: not alive(told["server_pid"]))
        if number != signal.SIGKILL:
            assert process.returncode == 0
            assert not ready.exists()
    finally:
        process.kill()
        process.wait(10)


def test_data_survives_a_restart():
    with ZooKeeperServer() as server:
        port = server.port
        server.restart()
        assert server.port == port
        assert server.answers()


def test_what_is_missing_is_said_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(zookeeper_server, "_JARS", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ZooKeeperMissing, match=r"apt-get install .*default-jre-headless zookeeper"):
        class_path()
