# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three ZooKeeper servers that elect a leader, for tests of what happens when it changes."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.zookeeper_server import HOST, ZooKeeperServer, free_port

SIZE = 3


class Member(ZooKeeperServer):
    """One of them. *number*: 1, 2, 3; *peers*: the ports for following and electing of all, in order."""

    main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

    def __init__(self, number: int, peers: Sequence[tuple[int, int]], data_dir: Path, tick_ms: int) -> None:
        super().__init__(tick_ms=tick_ms, data_dir=data_dir, heap_mib=64)
        self._number = number
        self._peers = peers
        (data_dir / "data").mkdir(parents=True)
        (data_dir / "data" / "myid").write_text(f"{number}\n", encoding="ascii")

    @property
    def leads(self) -> bool:
        """True while it is the leader."""
        try:
            return self.running and "Mode: leader" in self.command("srvr")
        except OSError:
            return False

    def _config(self) -> str:
        peers = [f"server.{at}={HOST}:{one}:{two}" for at, (one, two) in enumerate(self._peers, start=1)]
        quorum = {"initLimit": 20, "syncLimit": 10, "cnxTimeout": 1000, "electionPortBindRetry": 0}
        return super()._config() + "".join(f"{line}\n" for line in [*peers, *(f"{k}={v}" for k, v in quorum.items())])


class ZooKeeperEnsemble:
    """A context manager: starts all members, which takes as long as an election; ends all."""

    def __init__(self, *, tick_ms: int = 200) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="zookeeper-ensemble-")
        peers = [(free_port(), free_port()) for _unused in range(SIZE)]
        folder = Path(self._temporary.name)
        self.members = [Member(at, peers, folder / str(at), tick_ms) for at in range(1, SIZE + 1)]

    @property
    def hosts(self) -> str:
        """Of all members, for a client."""
        return ",".join(member.hosts for member in self.members)

    @property
    def port(self) -> int:
        """Of one member, for whoever takes no more than one."""
        return self.members[0].port

    @property
    def leader(self) -> Member | None:
        """The one that leads now; None while they elect."""
        return next((member for member in self.members if member.leads), None)

    def __enter__(self) -> Self:
        try:
            for member in self.members:
                member.spawn()
            for member in self.members:
                member.await_answers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill all and remove their data."""
        for member in self.members:
            member.kill()
        self._temporary.cleanup()
