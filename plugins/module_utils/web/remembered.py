# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache of values that are computed from the tree; they are kept until the tree changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 64
"""Most values that are kept; the least recently used one is dropped."""
REST = 3.0
"""A value is not computed again for this many times the duration of its computation, but see LONGEST_REST."""
LONGEST_REST = 0.5
"""Longest such rest in seconds. A change must be visible within a second, also in a value made from another one."""


@dataclass
class _Slot:
    """A value and the version that it was made from. The lock is held while the value is computed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: object = None
    made: float = float("-inf")
    took: float = 0.0
    value: Any = None

    def serves(self, version: object, now: float, valid: float) -> bool:
        """True when the value need not be computed again, or must not be computed again yet."""
        passed = now - self.made
        return passed < min(LONGEST_REST, REST * self.took) or (version == self.version and passed < valid)


class _Own(threading.local):
    """The state of each thread.

    :ivar behind: True when a value was returned that is older than the requested version.
    """

    behind = False


class Remembered:
    """Values by name. Thread-safe: a thread that needs a value waits while another thread computes it.

    A value may be made from other values. When one of these is outdated, because it rests, the new value is outdated,
    too.

    :param clock: returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: OrderedDict[object, _Slot] = OrderedDict()
        self._own = _Own()

    def value(self, name: object, version: object, valid: float, make: Callable[[], T]) -> T:
        """Return the value of that *name*; *make* computes it when the kept one has another *version* or is too old.

        :param valid: seconds for which the value may be used while the version is the same; the ages in it grow.
        """
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
            self._slots.move_to_end(name)
            while len(self._slots) > MOST:
                self._slots.popitem(last=False)
        with slot.lock:
            begun = self._clock()
            if not slot.serves(version, begun, valid):
                before, self._own.behind = self._own.behind, False
                slot.value = make()
                slot.version = None if self._own.behind else version
                slot.made = self._clock()
                slot.took = slot.made - begun
                self._own.behind = before
            if slot.version != version:
                self._own.behind = True
            value: T = slot.value
            return value
