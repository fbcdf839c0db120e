# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody who listens to the figures of a launcher or builder."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest


class Listener:
    """A statsd that keeps every line. *port*: where it is."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.2)
        self.port = int(self._socket.getsockname()[1])
        self.lines: list[str] = []

    def heard(self) -> list[str]:
        """All that has come so far."""
        try:
            while True:
                self.lines += self._socket.recv(65536).decode().splitlines()
        except TimeoutError:
            return self.lines

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    made = Listener()
    monkeypatch.setenv("STATSD_HOST", "127.0.0.1")
    monkeypatch.setenv("STATSD_PORT", str(made.port))
    monkeypatch.delenv("STATSD_PREFIX", raising=False)
    yield made
    made.close()
