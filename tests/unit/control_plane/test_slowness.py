# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane whose services work only a part of the time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.openstack.control_plane import ControlPlane
from tests.openstack.slowness import Slowness


def test_services_are_stopped_and_continued_in_turn_and_continued_at_the_end():
    sent = []
    enough = threading.Event()

    def signal_all(number):
        sent.append(number)
        if len(sent) >= 4:
            enough.set()

    with Slowness(signal_all, 50):
        assert enough.wait(60)
    assert sent[:4] == [signal.SIGSTOP, signal.SIGCONT] * 2
    assert sent[-1] == signal.SIGCONT


@pytest.fixture
def service(tmp_path):
    """A process that a control plane in *tmp_path* knows by the name of ``nova-api``."""
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "nova-api.pid").write_text(str(process.pid))
    yield process
    process.kill()
    process.communicate()


def test_what_is_frozen_stays_frozen(tmp_path, service):
    plane = ControlPlane(tmp_path)
    plane.signal_all(signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(service.pid, os.WUNTRACED)[1])
    plane.signal_all(signal.SIGCONT)
    assert os.WIFCONTINUED(os.waitpid(service.pid, os.WCONTINUED)[1])
    plane.freeze("nova-api")
    assert os.WIFSTOPPED(os.waitpid(service.pid, os.WUNTRACED)[1])
    plane.signal_all(signal.SIGCONT)
    assert os.waitpid(service.pid, os.WCONTINUED | os.WNOHANG) == (0, 0)
    plane.thaw("nova-api")
    assert os.WIFCONTINUED(os.waitpid(service.pid, os.WCONTINUED)[1])
