# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports the progress of an upload."""

from __future__ import annotations

from collections.abc import Callable

STEP = 10
"""Percent between two lines."""
SHORTEST = 2.0
"""Minimum seconds between two lines."""
LONGEST = 30.0
"""Seconds after which there is a line although the progress is less than STEP."""
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


class UploadProgress:
    """Reports the percentage of the bytes of one upload.

    :param say: takes "40 % of 1.2 GiB, 85.0 MiB/s".
    :param size: total bytes.
    """

    def __init__(self, size: int, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._size = size
        self._say = say
        self._clock = clock
        self._began = self._told_at = clock()
        self._told = 0
        self.sent = 0

    def __call__(self, sent: int) -> None:
        """Note the number of bytes sent so far; say a line if one is due."""
        self.sent = sent
        now = self._clock()
        percent = 100 * sent // self._size
        since = now - self._told_at
        if sent >= self._size or since < SHORTEST:
            return
        if percent - self._told >= STEP or since >= LONGEST:
            self._told, self._told_at = percent, now
            self._say(f"{percent} % of {bytes_text(self._size)}, {rate_text(sent, now - self._began)}")


def bytes_text(count: float) -> str:
    """Return a number of bytes as a text."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def rate_text(count: float, seconds: float) -> str:
    """Return bytes per second as a text."""
    return f"{bytes_text(count / max(seconds, 0.001))}/s"
