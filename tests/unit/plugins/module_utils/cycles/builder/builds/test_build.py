# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a build says of itself."""

from __future__ import annotations

import socket
import threading

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds import build


def test_the_full_name_of_the_host():
    assert build.full_name(lambda: "builder.example.org") == "builder.example.org"


def test_a_resolver_that_says_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(build, "NAME_SECONDS", 0.01)
    silent = threading.Event()
    assert build.full_name(lambda: str(silent.wait(60))) == socket.gethostname()
    silent.set()
