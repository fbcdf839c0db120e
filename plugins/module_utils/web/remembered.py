# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was computed from the tree, kept until the tree changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 64
"""Values that are kept. The one that was not asked for the longest is forgotten."""
REST = 3.0
"""What took a second to compute is not computed again for so many seconds, but see LONGEST_REST."""
LONGEST_REST = 0.5
"""Seconds. A change is to be seen within one, also where a value is made from another one."""


@dataclass
class _Slot:
    """A value and what it was made from. The lock is held while it is computed."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: object = None
    made: float = float("-inf")
    took: float = 0.0
    value: Any = None

    def serves(self, version: object, now: float, valid: float) -> bool:
        """True when the value need not, or must not yet, be computed again."""
        passed = now - self.made
        return passed < min(LONGEST_REST, REST * self.took) or (version == self.version and passed < valid)


class _Own(threading.local):
    """What each thread has for itself.

    :ivar behind: whether a value was returned that is behind the version which was asked for.
    """

    behind = False


class Remembered:
    """Values by name. Thread-safe: a thread that asks for a value which another one computes waits for it.

    A value may be made from others. Where one of those is behind, because it rests, the new value is behind as well.

    :param clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: OrderedDict[object, _Slot] = OrderedDict()
        self._own = _Own()

    def value(self, name: object, version: object, valid: float, make: Callable[[], T]) -> T:
        """The value of that *name*; *make* computes it where the kept one is of another *version* or too old.

        :param valid: seconds for which it may be used although the version is the same; ages grow.
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
