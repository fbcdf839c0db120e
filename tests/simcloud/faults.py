# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for injected faults: what goes wrong with which calls, how often and until when."""

from __future__ import annotations

import fnmatch
import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What happens to the call itself; the ones that end in _after do the work first.
CALL_FAULTS = frozenset(
    """quota status status_after hang hang_after drip slow reset reset_after garbage throttle edited""".split()
)
# What happens to a server that an accepted POST /servers makes.
SERVER_FAULTS = frozenset({"stuck_build", "error", "error_quota", "no_address", "unreachable", "ghost"})
LATE_RESOURCES = frozenset({"instances", "cores", "ram"})
"""What nova counts again when it writes a server down; cinder's and neutron's quotas are faults of the build."""
# What happens to a DELETE /servers/{id} that is answered with 204.
DELETE_FAULTS = frozenset({"lost_delete"})
ALL_FAULTS = CALL_FAULTS | SERVER_FAULTS | DELETE_FAULTS


@dataclass
class Rule:
    """One rule.

    :ivar kind: glob of normalised kinds (``POST /servers``, ``* /ports*``). ``{id}`` in it is literal.
    :ivar count: how many calls it still strikes; None is without end.
    :ivar probability: how likely it strikes a call that matches, 0 to 1.
    :ivar until: seconds since the epoch from which it is void; None is never.
    :ivar options: figures of the fault: ``seconds``, ``status``, ``retry_after``, ``message``, ``page``, ``headers``,
        ``set`` (path → value), ``interval``, ``resources``, ``code``, ``name`` and ``image`` (globs of a server's
        name and of its image's id, for the faults of servers), ``of`` (glob of the server at whose address a ghost
        appears); of uploads ``at`` (bytes after which it strikes) and ``rate`` (bytes a second).
    """

    id: int
    kind: str
    fault: str
    count: int | None = None
    probability: float = 1.0
    until: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    struck: int = 0

    def row(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "fault": self.fault,
            "count": self.count,
            "probability": self.probability,
            "until": self.until,
            "options": self.options,
            "struck": self.struck,
        }


class Faults:
    """The rules of one cloud, tried in the order in which they were added."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._ids = itertools.count(1)
        self._rules: dict[int, Rule] = {}

    def add(self, document: Mapping[str, Any], now: float) -> Rule:
        """Add a rule from a document with ``kind``, ``fault`` and optionally ``count``, ``probability``, ``until``
        (epoch seconds) or ``lasts`` (seconds from now); the other keys are options of the fault.

        :raises ValueError: when the fault is not known or a figure makes no sense.
        """
        options = dict(document)
        fault = options.pop("fault", None)
        if fault not in ALL_FAULTS:
            raise ValueError(f"unknown fault {fault!r}: use one of {', '.join(sorted(ALL_FAULTS))}")
        default = "DELETE /servers/{id}" if fault in DELETE_FAULTS else "POST /servers"
        kind = str(options.pop("kind", None) or default)
        count = options.pop("count", None)
        probability = float(options.pop("probability", 1.0))
        until = options.pop("until", None)
        lasts = options.pop("lasts", None)
        if count is not None and int(count) < 1:
            raise ValueError("count must be at least 1")
        if not 0.0 < probability <= 1.0:
            raise ValueError("probability must be above 0 and at most 1")
        if lasts is not None:
            until = now + float(lasts)
        if fault == "error_quota" and not LATE_RESOURCES.issuperset(options.get("resources") or ()):
            raise ValueError(f"resources of error_quota must be among {', '.join(sorted(LATE_RESOURCES))}")
        rule = Rule(
            next(self._ids),
            kind,
            fault,
            None if count is None else int(count),
            probability,
            None if until is None else float(until),
            options,
        )
        self._rules[rule.id] = rule
        return rule

    def remove(self, ident: int) -> bool:
        return self._rules.pop(ident, None) is not None

    def clear(self) -> None:
        self._rules.clear()

    def rows(self) -> list[dict[str, Any]]:
        return [rule.row() for rule in self._rules.values()]

    def strike(self, kind: str, now: float, server_name: str = "", image: str = "") -> list[Rule]:
        """Return the rules that strike this call and use them up.

        Every matching ``slow`` strikes, and the first of each other family (call, server, delete).
        """
        if not self._rules:
            return []
        struck: list[Rule] = []
        families: set[str] = set()
        for rule in list(self._rules.values()):
            if rule.until is not None and now >= rule.until:
                continue
            family = _family(rule.fault)
            if (family in families and rule.fault != "slow") or not _matches(rule, kind, server_name, image):
                continue
            if rule.count is not None and rule.count <= 0:
                continue
            if rule.probability < 1.0 and self._source.random() >= rule.probability:
                continue
            families.add(family)
            if rule.count is not None:
                rule.count -= 1
            rule.struck += 1
            struck.append(rule)
        return struck


def _family(fault: str) -> str:
    if fault in SERVER_FAULTS:
        return "server"
    if fault in DELETE_FAULTS or fault == "slow":
        return fault
    return "call"


def _matches(rule: Rule, kind: str, server_name: str, image: str) -> bool:
    if rule.kind != kind and not fnmatch.fnmatchcase(kind, rule.kind):
        return False
    wanted = [(rule.options.get("name"), server_name), (rule.options.get("image"), image)]
    return all(pattern is None or fnmatch.fnmatchcase(found, pattern) for pattern, found in wanted)
