# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds a lane on virtual time to the files that ``tools/kept.py`` compares before it keeps a success of that lane."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tools.kept import UNREAD

LOOKS = frozenset({"open", "os.listdir", "os.scandir"})
_held: list[bool] = []


class ForeignRead(RuntimeError):
    """A lane on virtual time has read a file, or started a program, that its kept success does not depend on."""


@contextmanager
def only_own_reads() -> Iterator[None]:
    """Within this context a look into a folder of ``UNREAD`` fails, and so does the start of a program.

    :raises ForeignRead: in the code that did so.
    """
    if not _held:
        # There is no way to take it away again, so it is added once for the process and switched.
        sys.addaudithook(_judge)
        _held.append(False)
    before, _held[0] = _held[0], True
    try:
        yield
    finally:
        _held[0] = before


def _judge(event: str, values: tuple[object, ...]) -> None:
    if not _held[0]:
        return
    if event == "subprocess.Popen":
        raise ForeignRead(
            f"a check on virtual time starts {values[0]!r}, which may read anything: do without it, or take the check "
            "out of RANDOM_PART in tools/kept.py"
        )
    if event in LOOKS and isinstance(values[0], str | bytes):
        path = os.fsdecode(values[0])
        for folder in UNREAD:
            if f"/{folder}/" in f"{path}/":
                raise ForeignRead(f"a check on virtual time reads {path}: take {folder} out of UNREAD in tools/kept.py")
