# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a gate: the test of one upload of an image at a provider. Pure.

There is one for each image at each provider, see :data:`.own_tree.GATES`. It is written before each step, so that the
next cycle goes on after a kill.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .bounded_text import bounded
from .image import Upload
from .request import NodeRequest
from .stored import BadDocument, Stored

CANARY, CONTROL = "canary", "control"
"""Kinds of nodes: made from the upload that is tested, or from the image in use."""
PASSED, REJECTED, PROMOTED = "passed", "rejected", "promoted"
"""How a gate ends. *promoted*: it was made ready without a test, at the deadline or by hand."""
WAITING, INCONCLUSIVE, FLAKY = "waiting", "inconclusive", "flaky"
STATES = (WAITING, INCONCLUSIVE, PASSED, FLAKY, REJECTED, PROMOTED)
"""What a gate says of its build. *inconclusive*: the latest round had no result about the image. *flaky*: it passed
after a failure."""
GATE_REQUESTOR = "stackci-gate"
"""``requestor`` of the requests of gates."""
TOKEN = "stackci_gate"
"""The key of ``requestor_data`` that has the token."""
BUILD = "stackci_build"
"""The key of ``requestor_data`` that has the id of the build from which the node is to be made."""
LOGS = "gates"
"""Folder of the logs, in build-log-dir."""
_LOG_NUMBER = re.compile(r"-(\d{1,5})\.log\Z")
MOST_RESULTS = 20
MOST_VOID = 5
"""Runs that say nothing about a build whose logs are kept."""
LONGEST_REASON = 500
LONGEST_NOTE = 1500


@dataclass(frozen=True)
class GateResult(Stored):
    """The result of one node.

    :ivar kind: CANARY or CONTROL.
    :ivar passed: the playbook has passed on it.
    :ivar reason: why it has not, in words.
    :ivar log: path of the playbook's log on the builder; "" if it was not run.
    :ivar at: when it ended (UNIX seconds).
    :ivar round: number of the round that it belongs to; an inconclusive round is followed by another one.
    :ivar playbook: a name for the text of the playbook; "" if it was not run.
    """

    kind: str
    passed: bool
    reason: str = ""
    log: str = ""
    node: str = ""
    at: float = 0.0
    round: int = 0
    playbook: str = ""


def _results(value: Any) -> tuple[GateResult, ...]:
    if not isinstance(value, list):
        raise BadDocument("'results' is not a list")
    return tuple(GateResult.from_document(item) for item in value)


@dataclass(frozen=True)
class GateRecord(Stored):
    """The state of a gate. Times are UNIX seconds.

    :ivar upload: id of the upload's record; *external_id*: of its image in the cloud.
    :ivar since: when the image was complete in the cloud.
    :ivar request: id of the present request for a node, "" for none; *kind*: what the node is for.
    :ivar token: what the request carries, stored before it is made.
    :ivar first: the request goes before those of all others.
    :ivar round: number of the present round; *not_before*: when it begins.
    :ivar void: the latest runs of the playbook that say nothing about the build, for their logs.
    :ivar outcome: PASSED, REJECTED or PROMOTED; "" while it is not decided.
    :ivar overdue: the deadline is over, and that was told.
    :ivar note: what it waits for, or why it was decided, in words.
    """

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"results": _results, "void": _results}

    build: str
    upload: str
    external_id: str = ""
    since: float = 0.0
    request: str = ""
    token: str = ""
    kind: str = ""
    first: bool = False
    round: int = 0
    not_before: float = 0.0
    results: tuple[GateResult, ...] = field(default=())
    void: tuple[GateResult, ...] = field(default=())
    outcome: str = ""
    overdue: bool = False
    note: str = ""

    def is_of(self, upload: Upload) -> bool:
        """Return True if it is the record of that upload."""
        return (self.build, self.upload) == (upload.build_id, upload.id)

    def of_round(self) -> tuple[GateResult, ...]:
        """Return the results of the present round, in their order."""
        return tuple(result for result in self.results if result.round == self.round)

    @property
    def is_flaky(self) -> bool:
        """True if a canary has failed and another one has passed, by the same text of the playbook."""
        canaries = [result for result in self.results if result.kind == CANARY]
        passed = {result.playbook for result in canaries if result.passed}
        return bool(passed) and any(not one.passed and one.playbook in (*passed, "") for one in canaries)

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.outcome == PASSED and self.is_flaky:
            return FLAKY
        return self.outcome or (INCONCLUSIVE if self.round else WAITING)

    @property
    def log_number(self) -> int:
        """The number of the log that shows best why it did not just pass; 0 if there is none."""
        undecided = not self.outcome
        found = [(not one.passed, _log_number(one)) for one in self.results]
        found += [(undecided, _log_number(one)) for one in self.void]
        return max(((failed, number) for failed, number in found if number), default=(False, 0))[1]

    @property
    def next_log(self) -> int:
        """A number for the log of the next run: that of no log which is kept."""
        return 1 + max((_log_number(one) for one in (*self.results, *self.void)), default=0)

    def logs(self) -> set[str]:
        """Return the paths of the logs that it names."""
        return {one.log for one in (*self.results, *self.void) if one.log}

    def with_result(self, result: GateResult) -> GateRecord:
        """Return the record after a node has been tested; its request is over."""
        results = (*self.results, self._of_now(result))[-MOST_RESULTS:]
        return replace(self, results=results, request="", token="", kind="")

    def with_void(self, result: GateResult) -> GateRecord:
        """Return the record after a run that says nothing about the build."""
        return replace(self, void=(*self.void, self._of_now(result))[-MOST_VOID:])

    def _of_now(self, result: GateResult) -> GateResult:
        return replace(result, round=self.round, reason=bounded(result.reason, LONGEST_REASON))

    def asking(self, kind: str, token: str, *, first: bool) -> GateRecord:
        """Return the record before a node is requested."""
        return replace(self, kind=kind, token=token, request="", first=first)

    def next_round(self, not_before: float, note: str) -> GateRecord:
        """Return the record after a round without a decision."""
        text = bounded(note, LONGEST_REASON)
        return replace(self, round=self.round + 1, not_before=not_before, note=text, request="", token="", kind="")

    def ended(self, outcome: str, note: str) -> GateRecord:
        """Return the record after the decision."""
        return replace(
            self, outcome=outcome, note=bounded(note, LONGEST_NOTE), request="", token="", kind="", not_before=0.0
        )


def _log_number(result: GateResult) -> int:
    match = _LOG_NUMBER.search(result.log)
    return int(match[1]) if match else 0


def log_name(image: str, build: str, provider: str, upload: str, number: int) -> str:
    """Return the name of the log of a gate's node, in the folder LOGS of build-log-dir."""
    return f"{image}-{build}-{provider}-{upload}-{number}.log"


def build_wanted(request: NodeRequest | None) -> str:
    """Return the id of the build from which a node for a test is to be made; "" for the one in use."""
    data = request.requestor_data if request is not None and request.requestor == GATE_REQUESTOR else None
    found = data.get(BUILD) if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""
