# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which row begins when a lane is free."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from tests.openstack.lab import Row


def clash(one: Row, other: Row) -> bool:
    """Whether two rows cannot run at the same time."""
    return one.alone or other.alone or one.disturbs in other.needs or other.disturbs in one.needs


class Turns:
    """Gives rows to lanes, none beside one that it clashes with.

    Rows that disturb others begin at once, while there are still rows that they do not disturb; then the longest; at
    the end those that want to be alone.

    :param seconds: how long rows took the last time; rows that it does not name come before the others, in their order.
    """

    def __init__(self, rows: Iterable[Row], seconds: Mapping[str, float]) -> None:
        rows = list(rows)
        disturbed = {row.name: sum(clash(row, other) for other in rows) if row.disturbs else 0 for row in rows}
        length = {row.name: seconds.get(row.name, float("inf")) for row in rows}
        self._waiting = sorted(rows, key=lambda row: (row.alone, -disturbed[row.name], -length[row.name]))
        self._running: list[Row] = []
        self._changed = threading.Condition()

    def take(self) -> Row | None:
        """A row for a lane, which says :meth:`done` when nothing of it is left; None when no row waits any more.

        It returns when a row may begin, which may be when others have ended.
        """
        with self._changed:
            while self._waiting:
                for row in self._waiting:
                    if not any(clash(row, other) for other in self._running):
                        self._waiting.remove(row)
                        self._running.append(row)
                        return row
                self._changed.wait()
            return None

    def done(self, row: Row) -> None:
        """A row has ended."""
        with self._changed:
            self._running.remove(row)
            self._changed.notify_all()
