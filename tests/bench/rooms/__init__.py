# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenarios. Each is one file with its own targets."""

from __future__ import annotations

from typing import Protocol

from tests.bench.figures import Findings
from tests.bench.rooms.builder import BuilderRoom
from tests.bench.rooms.burst import Burst
from tests.bench.rooms.check import Check
from tests.bench.rooms.curve import Curve
from tests.bench.rooms.hosts import Hosts
from tests.bench.rooms.idle import Idle
from tests.bench.rooms.info import Info
from tests.bench.rooms.inside import Inside
from tests.bench.rooms.inventory import Inventory
from tests.bench.rooms.loop import LoopRoom
from tests.bench.rooms.mix import Mix
from tests.bench.rooms.pingpong import PingPong
from tests.bench.rooms.pressure_crash import Crash, KillPoints
from tests.bench.rooms.pressure_failures import Failures
from tests.bench.rooms.pressure_fairness import Fairness
from tests.bench.rooms.pressure_launches import Launches
from tests.bench.rooms.pressure_leaks import Leaks, Stuck
from tests.bench.rooms.pressure_lies import Lies
from tests.bench.rooms.pressure_reload import Reload
from tests.bench.rooms.pressure_silent import Silent
from tests.bench.rooms.pressure_storm import Storm
from tests.bench.rooms.pressure_troubled import Troubled
from tests.bench.rooms.reuse import Reuse
from tests.bench.rooms.scale import Scale
from tests.bench.rooms.scan import Scan
from tests.bench.rooms.slow_cloud import SlowCloud
from tests.bench.rooms.stream import Stream
from tests.bench.rooms.thousand import Thousand
from tests.bench.rooms.uploads import Uploads
from tests.bench.rooms.web import Web
from tests.bench.rooms.web_page import WebPage


class Room(Protocol):
    """A scenario: makes its world, measures, and leaves nothing behind."""

    @property
    def name(self) -> str:
        """For ``--only``."""

    @property
    def title(self) -> str:
        """For the table."""

    def run(self, quick: bool) -> Findings:
        """Measure; *quick*: with fewer nodes or less time, where that still tells something."""


ROOMS: tuple[Room, ...] = (
    Burst("burst-100", "100 single-node requests at once, quota 200", 100, 0.02, 2.5),
    Burst("burst-100-slow", "the same, small calls take 0.1 s", 100, 0.1, 2.5, 90.0),
    Burst("burst-10", "10 single-node requests at once", 10, 0.02, 4.0, 50.0),
    Burst(
        "burst-500",
        "500 single-node requests at once, quota 1,000",
        500,
        0.02,
        2.5,
        duration=120.0,
        quota=1000,
        overhead_at_most=1.5,
        total_at_most=None,
        makespan_at_most=1.15,
    ),
    Curve(),
    Stream(),
    Mix(),
    Reuse(),
    Idle(),
    Check(),
    Info(),
    Scan(),
    Inside(),
    Thousand(),
    Scale("scale-1000", "1,000 live nodes at ten providers, 500 requests of which 490 must wait", 1000, 500, 2.5, 0.05),
    Scale("scale-10000", "10,000 live nodes at ten providers, 20 requests", 10000, 20, 6.0, 0.02, 40.0),
    Lies(),
    Fairness(),
    Silent(),
    Troubled(),
    SlowCloud(),
    PingPong(),
    Failures(),
    Launches(),
    Storm(),
    Crash(),
    Hosts(),
    KillPoints(),
    Leaks(),
    Stuck(),
    Reload(),
    BuilderRoom(),
    Uploads(),
    LoopRoom(),
    WebPage(),
    Web(),
    Inventory(1000, 0.3),
    Inventory(5000, 1.0),
)
