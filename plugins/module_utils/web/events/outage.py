# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Something that does not work for a while: told when it begins, when its cause changes, and when it is over."""

from __future__ import annotations

import errno
from collections.abc import Callable

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk says: no mistake of who has named the file, and it passes."""

WAITING = 1000
"""Most events that wait for the end of an outage; older ones are dropped."""


class Outage:
    """The outage of one thing.

    :param what: the subject of the lines.
    :param say: takes a line.
    """

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self._what = what
        self._say = say
        self.why = ""

    def begin(self, why: str, rest: str = "") -> None:
        """It does not work; one line for each cause.

        :param rest: what follows from it, the end of the line.
        """
        if why != self.why:
            self._say(f"{self._what} {why}{rest}")
        self.why = why

    def end(self, how: str, rest: str = "") -> None:
        """It works; a line if it did not before."""
        if self.why:
            self._say(f"{self._what} {how}{rest}")
        self.why = ""


def cause(problem: OSError) -> str:
    """Return why a file cannot be written, with the second one where there are two."""
    why = problem.strerror or type(problem).__name__
    return f"{why} (as {problem.filename2})" if problem.filename2 else why
