# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The znodes of :mod:`tests.support.memory_zookeeper`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stat:
    """What ZooKeeper tells of a znode, with kazoo's names."""

    czxid: int
    mzxid: int
    version: int
    ephemeralOwner: int  # noqa: N815 (kazoo's name)
    numChildren: int  # noqa: N815
    mtime: int = 0
    ctime: int = 0
    cversion: int = 0


@dataclass(slots=True)
class Znode:
    """A znode."""

    data: bytes
    czxid: int
    mzxid: int
    owner: int
    version: int = 0
    created: int = 0
    mtime: int = 0
    ctime: int = 0

    def copy(self) -> Znode:
        """Another one like it; dataclasses.replace takes four times as long, and each transaction needs some."""
        return Znode(self.data, self.czxid, self.mzxid, self.owner, self.version, self.created, self.mtime, self.ctime)
