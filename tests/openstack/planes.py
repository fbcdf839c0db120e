# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control planes of a run: rows that stop services have one of their own."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.openstack.control_plane import BASE, FIRST_PORT, PORTS_TRIED, ControlPlane

MEMORY = 3.5
"""GiB that a control plane needs, with the launchers of its rows."""


def control_planes(number: int) -> list[ControlPlane]:
    """So many, each with a folder and ports of its own, but no more than there is memory for, and one at least."""
    number = max(1, min(number, int(_available() // MEMORY)))
    return [
        ControlPlane(BASE.with_name(f"{BASE.name}{place or ''}"), FIRST_PORT + place * PORTS_TRIED)
        for place in range(number)
    ]


def _available() -> float:
    """GiB of memory that processes can have now."""
    found = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) / 2**20 if found else 0.0


class Planes:
    """``with Planes(planes):`` starts them, the first at once, the others while rows already run on the first.

    :raises CannotRun: the first does not start.
    """

    def __init__(self, planes: Sequence[ControlPlane]) -> None:
        self._planes = planes
        self._starter = ThreadPoolExecutor(len(planes))
        self._started: list[Future[ControlPlane]] = []

    def install(self) -> float:
        """Install all, one after the other. The seconds that it took.

        :raises CannotRun: they are not to be had on this machine.
        """
        return sum(plane.install() for plane in self._planes)

    def __len__(self) -> int:
        return len(self._planes)

    def __enter__(self) -> Self:
        first, *others = self._planes
        first.__enter__()
        self._started = [self._starter.submit(lambda: first), *(self._starter.submit(one.__enter__) for one in others)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        # One that could not start has ended what it had started.
        started = [future.result() for future in self._started if future.exception() is None]
        list(self._starter.map(lambda plane: plane.__exit__(kind, problem, trace), started))
        self._starter.shutdown()

    def get(self, place: int) -> ControlPlane:
        """One of them, when it answers.

        :raises CannotRun: it does not start.
        """
        return self._started[place].result()

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the services of all."""
        for plane in self._planes:
            plane.signal_all(number)
