# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Word to systemd, heard at the other end of a real socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.notify import Notifier


@pytest.fixture(params=["file", "abstract"])
def systemd(request, tmp_path):
    """(address as systemd gives it, the listening socket)"""
    name = str(tmp_path / "notify") if request.param == "file" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name.replace("@", "\0"))
        listening.settimeout(5)
        yield name, listening


def test_words_arrive(systemd):
    address, listening = systemd
    Notifier({"NOTIFY_SOCKET": address}).tell("READY=1", "STATUS=two\nlines")
    assert listening.recv(1000) == b"READY=1\nSTATUS=two lines"


def test_without_systemd_nothing_is_said(tmp_path):
    Notifier({}).tell("READY=1")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).tell("READY=1")


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "ours"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_how_often_a_sign_of_life_is_wanted(environment, seconds):
    # The process that imports this file need not be the one that runs the test.
    environment = {name: str(os.getpid()) if value == "ours" else value for name, value in environment.items()}
    assert Notifier(environment).watchdog == seconds


def test_a_systemd_that_does_not_read_does_not_stop_the_loop(systemd):
    address, _listening = systemd
    notifier = Notifier({"NOTIFY_SOCKET": address})
    queued = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text("ascii"))
    for _number in range(queued + 2):
        notifier.tell("WATCHDOG=1")
