# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of a history in which a launcher of Nodepool works beside ours, and who has broken them.

After it was stopped or cut off Nodepool's launcher writes without its locks, and declines or fulfils its own requests
wrongly (docs/designs/036): that is counted apart, but only while such a lapse lasts, and never what it does to nodes
of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.chaos.checker import RULES, Ended, OneRequest, ServedMeanwhile, violations
from tests.chaos.history import (
    CREATE,
    DELETE,
    NODES,
    OWN,
    REQUESTS,
    Change,
    Event,
    History,
    Lapse,
    Tree,
    document,
    record_of,
)
from tests.chaos.rule import Rule, Violation
from tests.chaos.sides import COMPONENTS, THEIRS, sides, trespass

LOCKS = "/nodepool/requests-lock"
KNOWN = 5.0
"""Seconds after which every launcher has seen a registration."""


def judge_beside(history: History) -> tuple[list[str], list[str]]:
    """(violations, what Nodepool's launcher did wrong to its own in a lapse), a sentence for each."""
    whose = sides(event for event in history.events if isinstance(event, Change))
    lapses = [event for event in history.events if isinstance(event, Lapse)]
    wrong: list[str] = []
    theirs: list[str] = []
    for one in violations(history, BESIDE_RULES):
        own = isinstance(one.event, Change) and whose.get(one.event.session) == THEIRS
        excused = own and one.rule not in (Nodes.name, Served.name) and _in_lapse(lapses, one)
        (theirs if excused or one.rule == Lost.name else wrong).append(str(one))
    return wrong, theirs


def _in_lapse(lapses: list[Lapse], one: Violation) -> bool:
    return one.event is not None and any(lapse.at <= one.event.at <= lapse.until for lapse in lapses)


def _is_its_own(found: Mapping[str, Any]) -> bool:
    """True for a request of Nodepool's launcher itself, for min-ready, whose nodes it frees again."""
    return str(found.get("requestor")).startswith("NodePool:")


class _Sided(Rule):
    """A rule that needs to know whose session it is."""

    def begin(self, history: History) -> None:
        self.whose = sides(event for event in history.events if isinstance(event, Change))
        self.providers = history.providers

    def side(self, change: Change) -> str:
        """Whose change it is, "" for a requestor's."""
        return self.whose.get(change.session, "")


class Nodes(_Sided):
    """Neither launcher changes or deletes a node of the other one."""

    name = "nodes of the other"

    def before(self, event: Event, tree: Tree) -> None:
        if isinstance(event, Change) and (node := record_of(event.path, NODES)) is not None:
            text = trespass(event, tree.node(node) or {}, self.side(event), self.providers)
            if text:
                self.note(event, text)


class Requests(_Sided):
    """Neither launcher writes to a request that the other one has locked."""

    name = "requests of the other"

    def __init__(self) -> None:
        super().__init__()
        self._locks: dict[str, dict[str, int]] = {}

    def before(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change) or not (side := self.side(event)):
            return
        request = record_of(event.path, REQUESTS)
        if request is None or event.kind == CREATE or _is_its_own(tree.request(request) or {}):
            return
        waiting = self._locks.get(request)
        holder = self.whose.get(waiting[min(waiting, key=lambda name: name[-10:])], "") if waiting else ""
        if holder not in ("", side):
            after = (document(event.data) or {}).get("state", "gone")
            self.note(event, f"{side}: writes {after} to request {request}, which {holder} has locked")

    def after(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change):
            return
        parent, _slash, name = event.path.rpartition("/")
        if (request := record_of(parent, LOCKS)) is not None:
            if event.kind == CREATE:
                self._locks.setdefault(request, {})[name] = event.owner
            elif event.kind == DELETE:
                self._locks.get(request, {}).pop(name, None)
                if not self._locks.get(request):
                    self._locks.pop(request, None)


class Lost(Rule):
    """Requests that Nodepool's launcher has declined in a lapse, and nobody else could serve: counted, not judged."""

    name = "lost"


class Served(_Sided):
    """No request fails that a launcher could serve."""

    name = "served"

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, float] = {}
        self._pools: dict[str, tuple[float, Mapping[str, Any]]] = {}
        """Path of each registration that is there → since when, and its document."""
        self._offered: dict[str, frozenset[str]] = {}
        """Id of each pool of Nodepool's that ever was → the labels that it offered."""
        self._lapses: list[Lapse] = []
        self._failed: dict[str, tuple[Event, list[str]]] = {}
        self._lost = Lost()

    def begin(self, history: History) -> None:
        super().begin(history)
        self._lapses = [event for event in history.events if isinstance(event, Lapse)]

    def after(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change):
            return
        if event.path.startswith(f"{COMPONENTS}/pool/"):
            self._register(event)
        elif (request := record_of(event.path, REQUESTS)) is not None and event.kind != DELETE:
            found = document(event.data) or {}
            self._asked.setdefault(request, event.at)
            if found.get("state") == "failed" and request not in self._failed and not _is_its_own(found):
                self._failed[request] = (event, list(found.get("declined_by") or []))
                self._judge(event, request, found)

    def _register(self, event: Change) -> None:
        found = document(event.data) or {}
        if event.kind == DELETE:
            self._pools.pop(event.path, None)
            return
        since, _before = self._pools.get(event.path, (event.at, {}))
        self._pools[event.path] = (since, found)
        ident = str(found.get("id"))
        if not ident.startswith("stackci-"):
            self._offered[ident] = frozenset(found.get("supported_labels") or ())

    def _judge(self, event: Change, request: str, found: Mapping[str, Any]) -> None:
        labels, declined = set(found.get("node_types") or ()), set(found.get("declined_by") or ())
        there = [
            str(pool.get("id"))
            for since, pool in self._pools.values()
            if since < event.at - KNOWN and labels <= set(pool.get("supported_labels") or ())
        ]
        for ident in sorted(set(there) - declined):
            self.note(event, f"request {request} has failed, and pool {ident} has its labels and did not decline it")
        able = {ident for ident, offered in self._offered.items() if labels <= offered}
        ours = any(ident.startswith("stackci-") for ident in there)
        if able and not ours and not able & declined:
            self.note(event, f"request {request} has failed, and no pool of Nodepool's that has its labels declined it")
        elif able & declined and not self._lapsed(request, event.at):
            self.note(event, f"request {request}: Nodepool's launcher has declined it, and nothing had happened to it")
        elif able & declined and not ours:
            self._lost.note(event, f"request {request} for {sorted(labels)} is declined by Nodepool's launcher alone")

    def _lapsed(self, request: str, until: float) -> bool:
        return any(lapse.at <= until and lapse.until >= self._asked[request] for lapse in self._lapses)

    def end(self, history: History, tree: Tree) -> None:
        self.wrong += self._lost.wrong


class OneRequestBeside(OneRequest):
    """The nodes of a request for min-ready are freed again."""

    def after(self, event: Event, tree: Tree) -> None:
        request = record_of(event.path, REQUESTS) if isinstance(event, Change) else None
        if request is None or not _is_its_own(tree.request(request) or {}):
            super().after(event, tree)


class EndedBeside(Ended, _Sided):
    """We tell why a request has failed that we could serve; Nodepool's launcher tells nobody.

    When Nodepool's launcher is the last that declines, it ends the request, and what we have stored of our own declines
    tells why.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ours: set[str] = set()
        """Labels that we have offered."""

    def after(self, event: Event, tree: Tree) -> None:
        super().after(event, tree)
        request = record_of(event.path, REQUESTS) if isinstance(event, Change) else None
        if request is not None and isinstance(event, Change) and self._failed.get(request) is event:
            declines = tree.document(f"{OWN}/declines/{request}")
            if declines is not None and self.side(event) == THEIRS:
                self._told.setdefault(request, declines)
        if event in self._configured[-1:]:
            self._ours |= {label for _most, offered in self._configured[-1].pools.values() for label in offered}

    def _judge_failure(self, request: str, event: Event) -> None:
        _asked, labels = self._asked[request]
        if set(labels) <= self._ours:
            super()._judge_failure(request, event)

    def _judge_wait(self, request: str, found: Mapping[str, Any], tree: Tree) -> None:
        if not _is_its_own(found):
            super()._judge_wait(request, found, tree)


class ServedMeanwhileByOurs(ServedMeanwhile):
    """What Nodepool's launcher serves while our configuration cannot be used says nothing of ours."""

    def after(self, event: Event, tree: Tree) -> None:
        request = record_of(event.path, REQUESTS) if isinstance(event, Change) else None
        labels = set((tree.request(request) or {}).get("node_types") or ()) if request is not None else set[str]()
        if not labels & {"theirs", "machine", "both"}:
            super().after(event, tree)


_INSTEAD: dict[type[Rule], type[Rule]] = {
    OneRequest: OneRequestBeside,
    Ended: EndedBeside,
    ServedMeanwhile: ServedMeanwhileByOurs,
}
BESIDE_RULES: tuple[type[Rule], ...] = (*(_INSTEAD.get(rule, rule) for rule in RULES), Nodes, Requests, Served)
