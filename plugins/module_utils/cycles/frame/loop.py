# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of every cycle: passes one after the other until the deadline, whatever happens to ZooKeeper meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...clients.zookeeper.connect_errors import host_names
from ...model.config.types import ZooKeeperSettings
from ...model.errors import StoreError, TreeExchanged
from ...model.lines import Trouble
from .options import DEADLINE
from .stop import SERVING, Stop
from .zookeeper_absence import Connection

AWAY_LOOK = 0.5
"""Seconds between two looks at a ZooKeeper that is away, or that has just failed."""
STORE_GRACE = 30.0
"""Seconds beyond the session time-out for which ZooKeeper may be away before the cycle ends."""
MOST_MISHAPS = 3
"""Passes in a row that ZooKeeper may spoil although it is there."""


class Work(Protocol):
    """What a cycle does within the frame. All of it is called by the thread that runs the frame.

    Cycles inherit from it: one that keeps nothing from pass to pass needs no more than :meth:`turn` and :meth:`rest`.
    """

    @property
    def state(self) -> str:
        """What the cycle is doing, for the heartbeat: one of the states of :mod:`stop`."""
        return SERVING

    @property
    def finishing(self) -> bool:
        """True while something is under way that the deadline does not cut short."""
        return False

    def turn(self, now: float, deadline: float) -> str | None:
        """One pass and the wait for the next.

        :return: how the cycle ends; None to go on.
        :raises StoreError: ZooKeeper spoiled the pass.
        """

    def rest(self, seconds: float) -> None:
        """Wait while nothing can be done; ends early when the cycle is asked to stop."""

    # With a statement of its own, a method of a protocol is a default.

    def lose(self) -> None:
        """A pass was left in the middle: drop what was believed; the next one looks afresh."""
        return

    def leave(self) -> None:
        """The cycle is asked to stop: end what is under way."""
        return

    def abandon(self) -> None:
        """Another tree is in the place of the one that the cycle began with: end what is under way, write nothing."""
        return


class Frame:
    """Runs the passes of one cycle.

    :param clock: UNIX seconds.
    :param say: takes lines for people.
    :param once: True: there is one pass, however short the time is.
    """

    def __init__(
        self,
        work: Work,
        store: Connection,
        settings: ZooKeeperSettings,
        stop: Stop,
        clock: Callable[[], float],
        say: Callable[[str], None],
        *,
        once: bool = False,
    ) -> None:
        self._work = work
        self._store = store
        self._settings = settings
        self._stop = stop
        self._clock = clock
        self._say = say
        self._pending = once
        self._mishaps = 0

    def run(self, deadline: float) -> str:
        """Work until the deadline, the end of the work or a wish to stop.

        :return: how the cycle ended.
        :raises StoreError: ZooKeeper was away for too long, or spoiled too many passes in a row.
        :raises TreeExchanged: another tree is in the place of the one that the cycle began with.
        """
        away_since: float | None = None
        while True:
            now = self._clock()
            self._stop.beat(self._work.state)
            if self._stop.reason is not None:
                self._work.leave()
                return self._stop.reason
            if now >= deadline and not self._pending and not self._work.finishing:
                return DEADLINE
            if self._store.state != "connected":
                away_since = now if away_since is None else away_since
                self._give_up_after(now - away_since)
                self._work.rest(AWAY_LOOK)
                continue
            away_since = None
            ended = self._turn(now, deadline)
            if ended is not None:
                return ended

    def _turn(self, now: float, deadline: float) -> str | None:
        generation = self._store.generation
        try:
            ended = self._work.turn(now, deadline)
        except TreeExchanged:
            self._work.abandon()
            raise
        except StoreError as error:
            self._recover(error, generation)
            return None
        self._mishaps = 0
        self._pending = False
        return ended

    def _recover(self, error: StoreError, generation: int) -> None:
        """Drop what the cycle believed: parts of the pass may be done.

        :param generation: the session in which the pass began; the loss of that is no mishap.
        :raises StoreError: ZooKeeper is there, and this has happened too often in a row.
        """
        spoiled = self._store.state == "connected" and self._store.generation == generation
        if spoiled:
            self._mishaps += 1
            if self._mishaps > MOST_MISHAPS:
                raise error
            self._say(Trouble(f"starting afresh: {error}"))
        self._work.lose()
        if spoiled:
            self._work.rest(AWAY_LOOK)

    def _give_up_after(self, seconds: float) -> None:
        if seconds > self._settings.timeout + STORE_GRACE and not self._work.finishing:
            hosts = ", ".join(host_names(self._settings))
            raise StoreError(
                f"ZooKeeper ({hosts}) has been away for {seconds:.0f} s: the cycle ends, the next one goes on"
            )
