# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A name that leads to this host, and whose look-up can be made to hang in the processes that are given it."""

from __future__ import annotations

from pathlib import Path

NAME = "cloud.invalid"
CODE = """\
import socket
import time
from pathlib import Path

_look_up = socket.getaddrinfo


def getaddrinfo(host, *args, **options):
    if host == {name!r}:
        if Path({hangs!r}).exists():
            with open({hung!r}, "a") as log:
                log.write("1\\n")
        while Path({hangs!r}).exists():
            # As in the C library: nothing but the answer ends it.
            time.sleep(0.05)
        host = "127.0.0.1"
    return _look_up(host, *args, **options)


socket.getaddrinfo = getaddrinfo
"""


class Resolver:
    """Python imports ``sitecustomize`` at its start wherever it finds it first; that is where look-ups are caught.

    :ivar environment: for the process whose look-ups are meant.
    """

    def __init__(self, folder: Path) -> None:
        place = folder / "resolver"
        place.mkdir()
        self._hangs, self._hung = place / "hangs", place / "hung"
        code = CODE.format(name=NAME, hangs=str(self._hangs), hung=str(self._hung))
        (place / "sitecustomize.py").write_text(code, encoding="utf-8")
        self.environment = {"PYTHONPATH": str(place)}

    def hang(self) -> None:
        """From now on look-ups do not end."""
        self._hangs.touch()

    def heal(self) -> None:
        """All of them end, and those that come are answered at once."""
        self._hangs.unlink(missing_ok=True)

    @property
    def hung(self) -> int:
        """Look-ups that had to wait so far."""
        return len(self._hung.read_text(encoding="utf-8").splitlines()) if self._hung.exists() else 0
