# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notify systemd by the protocol of sd_notify(3): one datagram for each message."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping

PATIENCE = 0.5
"""Seconds to wait for a busy systemd."""


class Notifier:
    """A sender of messages to systemd; it does nothing when systemd did not start this process.

    :ivar watchdog: seconds between two keep-alive messages, half of systemd's limit; None when systemd wants none.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self._address = environment.get("NOTIFY_SOCKET", "")
        wanted = environment.get("WATCHDOG_USEC", "")
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self.watchdog = int(wanted) / 2_000_000 if wanted.isdigit() and int(wanted) > 0 and ours else None
        self._beaten = float("-inf")

    def beat(self) -> None:
        """Send a keep-alive message when the last one is old enough. Call it more often than *watchdog*."""
        now = time.monotonic()
        if self.watchdog is not None and now - self._beaten >= self.watchdog / 2:
            self._beaten = now
            self.tell("WATCHDOG=1")

    def tell(self, *words: str) -> None:
        """Send assignments such as ``READY=1``. An error is ignored."""
        if not self._address:
            return
        # A name in the abstract namespace is written with @.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(PATIENCE)
            out.sendto("\n".join(word.replace("\n", " ") for word in words).encode(), address)
