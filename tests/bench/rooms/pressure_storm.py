# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first complaint, replayed on virtual time: an hour at the quota with others coming and going."""

from __future__ import annotations

from unittest.mock import patch

from tests.bench.figures import Findings, ratio
from tests.simulation.launcher import test_replay_quota as storm
from tests.support.world import World, one_provider


class Storm:
    """A room."""

    name = "pressure-storm"
    title = "an hour at the quota, on virtual time, with a fixed seed"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        played = storm.HOUR // 3 if quick else storm.HOUR
        quota = {"east": storm.STORM["quota"]}
        with (
            patch.object(storm, "PLAYED", played),
            World(one_provider(), quota=quota, seed=storm.STORM["seed"]) as world,
        ):
            cycle = world.start()
            done, idle = storm.replay(world)
            calls = sum(len(client.calls) for client in cycle.clients)
        refused = cycle.account.refused
        findings.add("refused creates", refused, "", at_most=storm.MOST_REFUSED, published="751 in two minutes")
        findings.add("  of all calls", 100 * ratio(refused, calls), "%", at_most=100 * storm.MOST_SHARE)
        findings.add("longest time for which visible room was idle", idle, at_most=storm.POLL_AND_CREATE)
        findings.add("jobs done", done, "")
        findings.add("failed requests", len(cycle.account.failed), "", at_most=0)
        return findings
