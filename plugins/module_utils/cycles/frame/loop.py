# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of every cycle: it runs passes until the deadline, and bridges outages of ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...clients.zookeeper.link.connect_errors import host_names
from ...model.config.types import ZooKeeperSettings
from ...model.errors import RecordClosed, StoreError, TreeExchanged
from ...model.lines import Trouble
from .cycle_options import DEADLINE
from .stop import SERVING, Stop
from .zookeeper_absence import Connection

AWAY_LOOK = 0.5
"""Seconds to wait before the next look when ZooKeeper cannot be reached or has just failed."""
STORE_GRACE = 30.0
"""Seconds beyond the session time-out for which ZooKeeper may be unreachable before the cycle ends."""
MOST_MISHAPS = 3
"""Passes in a row that may fail with a ZooKeeper error while the connection is up."""


class Work(Protocol):
    """The work that a cycle does within the frame. The thread that runs the frame makes all calls.

    Cycles inherit from this class. A cycle that keeps nothing between passes needs only :meth:`turn` and :meth:`rest`.
    """

    @property
    def state(self) -> str:
        """The state of the cycle for the heartbeat: one of those in :mod:`stop`."""
        return SERVING

    @property
    def finishing(self) -> bool:
        """True while work is under way that the deadline does not interrupt."""
        return False

    def turn(self, now: float, deadline: float) -> str | None:
        """Run one pass and wait for the next.

        :return: how the cycle ends; None to go on.
        :raises StoreError: the pass failed with a ZooKeeper error.
        """

    def rest(self, seconds: float) -> None:
        """Wait while nothing can be done; ends early when the cycle is asked to stop."""

    # The statement in the body makes a method of a protocol a default implementation.

    def lose(self) -> None:
        """Drop what the cycle knows after a pass that did not end; the next pass reads it again."""
        return

    def leave(self) -> None:
        """End what is under way, as the cycle was asked to stop."""
        return

    def abandon(self) -> None:
        """End what is under way and write nothing, as another tree has replaced the one that the cycle began with."""
        return


class Frame:
    """Runs the passes of one cycle.

    :param clock: UNIX seconds.
    :param say: takes lines for the operator.
    :param once: True to run at least one pass, even if the deadline is over.
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
        """Work until the deadline, the end of the work or a request to stop.

        :return: how the cycle ended.
        :raises StoreError: ZooKeeper was unreachable for too long, or too many passes in a row failed with its errors.
        :raises TreeExchanged: another tree has replaced the one that the cycle began with.
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
        """Drop what the cycle knows, as the pass may be done in part.

        :param generation: the session in which the pass began; the loss of that session does not count as a failure.
        :raises StoreError: the connection is up, and too many passes in a row have failed.
        """
        spoiled = self._store.state == "connected" and self._store.generation == generation
        if spoiled:
            self._mishaps += not isinstance(error, RecordClosed)  # that record is not used again
            if self._mishaps > MOST_MISHAPS:
                raise error
            self._say(Trouble(f"restarting with a new session: {error}"))
        self._work.lose()
        if spoiled:
            self._work.rest(AWAY_LOOK)

    def _give_up_after(self, seconds: float) -> None:
        if seconds > self._settings.timeout + STORE_GRACE and not self._work.finishing:
            hosts = ", ".join(host_names(self._settings))
            raise StoreError(
                f"ZooKeeper ({hosts}) has not answered for {seconds:.0f} s: the cycle ends, the next one goes on"
            )
