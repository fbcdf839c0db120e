# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide what a gate does next. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..model.backoff import backoff
from ..model.build_verdict import APPROVED, CONDEMNED, HAND, HELD, BuildVerdict
from ..model.config.gate_settings import PROMOTE, GateSettings
from ..model.gate import CANARY, CONTROL, PASSED, PROMOTED, REJECTED, GateRecord, GateResult
from ..model.lines import amount, span
from ..model.stored import believed

FIRST_PAUSE, LONGEST_PAUSE = 300.0, 3600.0
"""Seconds from an inconclusive round to the next one; doubled each time, up to the second."""


@dataclass(frozen=True)
class Launch:
    """Get a node of *kind* and run the playbook on it."""

    kind: str


@dataclass(frozen=True)
class Pause:
    """Do nothing until *until* (UNIX seconds)."""

    until: float
    why: str


@dataclass(frozen=True)
class Inconclusive:
    """The round has no result about the image; another one begins after *seconds*."""

    seconds: float
    why: str


@dataclass(frozen=True)
class Overdue:
    """The deadline is over; the test goes on."""

    why: str


@dataclass(frozen=True)
class Decide:
    """The test is over with *outcome*."""

    outcome: str
    why: str


Step: TypeAlias = "Launch | Pause | Inconclusive | Overdue | Decide"


def next_step(
    record: GateRecord,
    gate: GateSettings,
    verdict: BuildVerdict,
    now: float,
    *,
    can_compare: bool,
    edition: str = "",
) -> Step:
    """Return the next step of a gate.

    :param verdict: what is decided about the build: a person's decision overrides every test.
    :param can_compare: there is an image in use.
    :param edition: a name for the present text of the playbook; "" if it is unknown.
    """
    by_hand = _by_hand(verdict, now)
    if by_hand is not None:
        return by_hand
    overdue = _at_deadline(record, gate, max(record.since, believed(verdict.restored, now, 0.0)), now)
    if overdue is not None:
        return overdue
    until = believed(record.not_before, now, LONGEST_PAUSE)
    if now < until:
        return Pause(until, record.note)
    return _of_round(record, _that_count(record, edition), gate, can_compare)


def _by_hand(verdict: BuildVerdict, now: float) -> Step | None:
    if not verdict.applies(now):
        return None
    if verdict.state in CONDEMNED:
        return Decide(REJECTED, verdict.text(now))
    if verdict.state == HELD:
        return Pause(now + LONGEST_PAUSE, verdict.text(now))
    return Decide(PROMOTED, verdict.text(now)) if (verdict.state, verdict.by) == (APPROVED, HAND) else None


def _at_deadline(record: GateRecord, gate: GateSettings, since: float, now: float) -> Step | None:
    """Return what is done at the deadline.

    :param since: when the test began, or a person who had held the build let it go on.
    """
    if now < since + gate.deadline:
        return None
    why = f"not decided within {span(gate.deadline)}" + (f": {record.note}" if record.note else "")
    failed = [result for result in record.of_round() if result.kind == CANARY and not result.passed]
    if gate.at_deadline == PROMOTE and not failed:
        return Decide(PROMOTED, why)
    if record.overdue:
        return None
    return Overdue(f"{why}; not promoted, because a canary failed: {failed[-1].reason}" if failed else why)


def _that_count(record: GateRecord, edition: str) -> list[GateResult]:
    """Return the results of the round without failures, and comparisons, by another text of the playbook."""
    known = ("", edition) if edition else tuple(result.playbook for result in record.results)
    return [one for one in record.of_round() if one.playbook in known or (one.kind == CANARY and one.passed)]


def _of_round(record: GateRecord, results: Sequence[GateResult], gate: GateSettings, can_compare: bool) -> Step:
    failures = [result for result in results if result.kind == CANARY and not result.passed]
    if any(result.kind == CANARY and result.passed for result in results):
        return Decide(PASSED, _passed(record))
    controls = [result for result in results if result.kind == CONTROL]
    if any(not result.passed for result in controls):
        return inconclusive(record, f"the playbook fails on the image in use, too: {controls[-1].reason}")
    if failures and not controls and can_compare:
        return Launch(CONTROL)
    if len(failures) < gate.tries:
        return Launch(CANARY)
    if not controls:
        return inconclusive(record, f"there is no image in use to compare with: {failures[-1].reason}")
    tried = f"{amount(len(failures), 'canary', 'canaries')} failed and a node of the image in use passed"
    return Decide(REJECTED, f"{tried}: {failures[-1].reason}")


def inconclusive(record: GateRecord, why: str) -> Inconclusive:
    """Return the end of a round that has shown nothing about the image; the pause grows with each."""
    pause = backoff(record.round + 1, first=FIRST_PAUSE, most=LONGEST_PAUSE, spread=0.0, chance=0.5)
    return Inconclusive(min(LONGEST_PAUSE, pause), why)


def _passed(record: GateRecord) -> str:
    if not record.is_flaky:
        return "the playbook passed on a canary"
    failed = [result for result in record.results if result.kind == CANARY and not result.passed]
    return f"the playbook passed on a canary after {amount(len(failed), 'failure')} (flaky): {failed[-1].reason}"
