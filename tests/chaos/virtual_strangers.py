# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients on virtual time that write records near ZooKeeper's limit, and with values of odd types."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.chaos import hostile
from tests.support.world import World


class Strangers:
    """Their session and what they have written.

    :ivar planted: the paths of all their records, also of those that are gone.
    """

    def __init__(self, world: World, chance: random.Random, log: Callable[[str], None]) -> None:
        self._world = world
        self._chance = chance
        self._log = log
        self._session = world.keeper.store().session
        self.planted: set[str] = set()

    def plant(self, provider: str, seconds: float) -> list[str]:
        """Write some records; return their paths.

        :param seconds: for how long they stay, for the log.
        """
        made = []
        for _turn in range(self._chance.randint(1, 4)):
            kind = self._chance.choice(["node", "request"])
            data = hostile.made(self._chance, kind, provider, self._world.agenda.now)
            path, _stat = self._session.create(hostile.folder_of(kind), data, sequence=True, parents=True)
            self._log(f"a stranger writes {path}, {len(data)} bytes, for {seconds:.1f} s: {data[:300]!r}")
            self.planted.add(path)
            made.append(path)
        return made

    def remove(self, path: str) -> None:
        """Remove a record with the locks below it."""
        znodes = self._world.keeper.znodes
        for below in sorted((one for one in znodes if one.startswith(f"{path}/")), reverse=True):
            self._session.remove([below])
        if path in znodes:
            self._session.remove([path])

    def remove_all(self) -> None:
        """Remove whatever is left of them."""
        for path in sorted(self.planted):
            self.remove(path)
