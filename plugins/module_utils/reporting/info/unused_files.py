# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What running cycles tell of their hosts: files that they do not use, wrong clocks, and metrics that are lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import TreeReading
from ...cycles.frame.heartbeat import CLOCK_AHEAD, CONFIG_PROBLEMS, UNSENT_METRICS
from ...model.documents import text, words
from ...model.lines import word_for
from ...model.own_tree import HEARTBEATS
from ...model.stored import is_number

ROOT = f"{paths.OWN}/{HEARTBEATS}"


@dataclass(frozen=True)
class UnusedFiles:
    """What is wrong with the files of one host.

    :ivar cycles: the cycles that work with a former configuration.
    """

    host: str
    cycles: tuple[str, ...]
    problems: tuple[str, ...]

    def text(self) -> str:
        """Return the sentence for the operator."""
        verb = word_for(len(self.cycles), "uses", "use")
        working = f"{' and '.join(self.cycles)} {verb} the previous one"
        return f"the configuration on {self.host} cannot be used: {'; '.join(self.problems)}; {working}"


def unused_files(reading: TreeReading) -> list[UnusedFiles]:
    """Return the hosts whose files cannot be used, by name. The reading must have ROOT."""
    found: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for host, cycle, problems in _told(reading):
        if problems:
            found.setdefault((host, problems), set()).add(cycle)
    return [UnusedFiles(host, tuple(sorted(cycles)), problems) for (host, problems), cycles in sorted(found.items())]


def problems_by_cycle(reading: TreeReading) -> dict[tuple[str, str], int]:
    """Return (host, cycle) → number of problems of the files, 0 for cycles that use them."""
    counts: dict[tuple[str, str], int] = {}
    for host, cycle, problems in _told(reading):
        counts[host, cycle] = max(counts.get((host, cycle), 0), len(problems))
    return counts


def wrong_clocks(reading: TreeReading) -> dict[str, float]:
    """Return host → seconds by which its clock is ahead of ZooKeeper's, for the hosts whose clock is wrong."""
    found: dict[str, float] = {}
    for beat in reading.below(ROOT):
        host, ahead = text(beat.document.get("hostname")), beat.document.get(CLOCK_AHEAD)
        if host and is_number(ahead) and ahead and abs(ahead) > abs(found.get(host, 0.0)):
            found[host] = float(ahead)
    return found


def unsent_metrics(reading: TreeReading) -> dict[str, str]:
    """Return host → why its cycles send no metrics to statsd, for the hosts of which they say so."""
    found: dict[str, str] = {}
    for beat in reading.below(ROOT):
        host, told = text(beat.document.get("hostname")), text(beat.document.get(UNSENT_METRICS))
        if host and told:
            found.setdefault(host, told)
    return found


def _told(reading: TreeReading) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for found in reading.below(ROOT):
        host, cycle = text(found.document.get("hostname")), text(found.document.get("cycle"))
        if host and cycle:
            yield host, cycle, tuple(words(found.document.get(CONFIG_PROBLEMS)))
