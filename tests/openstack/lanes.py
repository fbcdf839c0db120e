# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which row begins when a lane is free."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from tests.openstack.lab import Row


def clash(one: Row, other: Row, beside: bool = True) -> bool:
    """Whether two rows cannot run at the same time.

    :param beside: they run on the same control plane.
    """
    return one.alone or other.alone or (beside and (_disturbs(one, other) or _disturbs(other, one)))


def _disturbs(row: Row, neighbour: Row) -> bool:
    return bool(row.disturbs) and (row.disturbs_all or row.disturbs in neighbour.needs)


class Turns:
    """Gives rows to lanes, none beside one that it clashes with.

    Rows that disturb some others begin at once, while there are still rows that they do not disturb; then the longest;
    then those that disturb all; at the end those that want to be alone. Where there are several control planes, all
    but the first have only those that disturb all.

    :param seconds: how long rows took the last time; rows that it does not name come before the others, in their order.
    """

    def __init__(self, rows: Iterable[Row], seconds: Mapping[str, float]) -> None:
        rows = list(rows)
        disturbed = {row.name: sum(_disturbs(row, other) for other in rows) for row in rows}
        length = {row.name: seconds.get(row.name, float("inf")) for row in rows}
        self._waiting = sorted(
            rows, key=lambda row: (row.alone, row.disturbs_all, -disturbed[row.name], -length[row.name])
        )
        self._running: list[tuple[Row, int]] = []
        self._changed = threading.Condition()

    def take(self, plane: int = 0) -> Row | None:
        """A row for a lane, which says :meth:`done` when nothing of it is left; None when no row waits for it any more.

        It returns when a row may begin, which may be when others have ended.

        :param plane: the number of the lane's control plane.
        """
        with self._changed:
            while own := [row for row in self._waiting if self._is_of(row, plane)]:
                for row in own:
                    if not any(clash(row, other, plane == where) for other, where in self._running):
                        self._waiting.remove(row)
                        self._running.append((row, plane))
                        return row
                self._changed.wait()
            return None

    def _is_of(self, row: Row, plane: int) -> bool:
        return not plane or row.disturbs_all

    def done(self, row: Row) -> None:
        """A row has ended."""
        with self._changed:
            self._running = [(other, where) for other, where in self._running if other is not row]
            self._changed.notify_all()
