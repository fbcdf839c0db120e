# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves from a history that nothing was lost, taken twice, deleted in use or left behind.

Each rule reads every event with the tree before and after it, and the end. A rule knows nothing of the run: a lock says
whose a node is, so requestors and launchers need not be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.chaos.history import (
    CREATE,
    DELETE,
    NODES,
    OWN,
    REQUESTS,
    SET,
    Change,
    Configured,
    CreateRefused,
    Event,
    History,
    ServerDeleted,
    Tree,
    Typo,
    document,
    record_of,
)
from tests.chaos.rule import Rule, Violation

KEPT = ("in-use", "hold")
WAITING = ("requested", "pending")
NOT_OFFERED = ("label-unknown", "pool-disabled", "pool-gone")
"""Reasons that name a pool which does not offer what is asked for."""
NOTICED = 60.0
"""Seconds after which every launcher that works has read a changed configuration."""
MOST_REFUSED = 6
WINDOW = 120.0
"""In so many seconds a provider is allowed MOST_REFUSED refusals for each of its pools, and as many in the worst case
again when it has learned of room; creates that were on their way together count once."""
SHORTEST_TYPO = 20.0
ENOUGH = 5
"""A typo of so many seconds is judged when so many requests were asked for in its first half, and served before it."""
UPLOAD = re.compile(
    r"/nodepool/images/(?P<image>[^/]+)/builds/(?P<build>[^/]+)/providers/(?P<provider>[^/]+)/images/\d{10}"
)
KEPT_BUILDS = 2
STORED = 2.0
"""Seconds that a launcher on a busy machine may take from the answer to the record of it."""


class OneRequest(Rule):
    """A node serves one request, and what a fulfilled request has is not taken from it."""

    name = "one request"

    def __init__(self) -> None:
        super().__init__()
        self._used_by: dict[str, str] = {}
        self._fulfilled: dict[str, list[str]] = {}

    def before(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change):
            return
        node = record_of(event.path, NODES)
        if node is not None and event.kind != CREATE:
            self._taken(event, node, tree)
        request = record_of(event.path, REQUESTS)
        if request is not None and event.kind == SET and request in self._fulfilled:
            changed = _document(event).get("state")
            if changed != "fulfilled":
                self.note(event, f"request {request} is fulfilled and becomes {changed}")

    def after(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change):
            return
        node, request = record_of(event.path, NODES), record_of(event.path, REQUESTS)
        if node is not None and event.kind == SET:
            self._see_use(event, node, tree)
        if request is not None and event.kind == DELETE:
            self._fulfilled.pop(request, None)
        elif request is not None and request not in self._fulfilled:
            found = _document(event)
            if found.get("state") == "fulfilled":
                self._see_fulfilled(event, request, found, tree)

    def _see_fulfilled(self, event: Event, request: str, found: Mapping[str, Any], tree: Tree) -> None:
        nodes = list(found.get("nodes") or [])
        for other, theirs in self._fulfilled.items():
            for node in set(theirs) & set(nodes):
                self.note(event, f"node {node} belongs to the fulfilled requests {other} and {request}")
        self._fulfilled[request] = nodes
        if len(nodes) != len(found.get("node_types") or []):
            self.note(event, f"request {request} is fulfilled with {len(nodes)} nodes")
        for node in nodes:
            record = tree.node(node) or {}
            if record.get("allocated_to") != request or record.get("state") != "ready":
                self.note(
                    event,
                    f"request {request} is fulfilled with node {node}, which is {record.get('state')} for"
                    f" {record.get('allocated_to')}",
                )
            if node in self._used_by:
                self.note(event, f"request {request} gets node {node}, which {self._used_by[node]} has used")

    def _see_use(self, event: Event, node: str, tree: Tree) -> None:
        record = tree.node(node) or {}
        if record.get("state") != "in-use":
            return
        request = str(record.get("allocated_to"))
        if self._used_by.setdefault(node, request) != request:
            self.note(event, f"node {node} is used for {request}, and was for {self._used_by[node]}")

    def _taken(self, event: Change, node: str, tree: Tree) -> None:
        record = tree.node(node) or {}
        request = str(record.get("allocated_to"))
        if node not in self._fulfilled.get(request, ()):
            return
        after = _document(event) if event.kind == SET else {}
        kept = after.get("allocated_to") == request and after.get("state") in ("ready", *KEPT)
        if not kept:
            self.note(event, f"node {node} is taken from the fulfilled request {request}: {after.get('state')}")


class Kept(Rule):
    """No node in use or held is deleted, neither its record nor its server."""

    name = "kept"
    skew = 0.0

    def begin(self, history: History) -> None:
        self.skew = history.skew

    def before(self, event: Event, tree: Tree) -> None:
        if isinstance(event, ServerDeleted):
            for ident, record in tree.below(NODES):
                mine = (record.get("provider"), record.get("external_id")) == (event.cloud, event.server)
                if mine and self._is_kept(event, ident, record, tree, None):
                    self.note(event, f"server {event.server} of node {ident}, {record.get('state')}, is deleted")
        elif isinstance(event, Change) and (node := record_of(event.path, NODES)) is not None:
            record = tree.node(node) or {}
            gone = event.kind == DELETE or (event.kind == SET and _document(event).get("state") == "deleting")
            if gone and self._is_kept(event, node, record, tree, event.session):
                self.note(event, f"node {node}, {record.get('state')}, is deleted")

    def _is_kept(self, event: Event, node: str, record: Mapping[str, Any], tree: Tree, session: int | None) -> bool:
        state = record.get("state")
        if state == "in-use":  # without its lock it is garbage by Nodepool's rules
            return tree.holder(node) not in (None, session)
        if state != "hold":
            return False
        bound = record.get("hold_expiration") or 0
        return not bound or event.at + self.skew - float(record.get("state_time") or 0.0) <= bound


class Locked(Rule):
    """A node record is written by the session that has its lock."""

    name = "locked"

    def before(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change) or event.kind == CREATE:
            return
        node = record_of(event.path, NODES)
        if node is None:
            return
        holder = tree.holder(node)
        if holder is not None and holder != event.session:
            state = (tree.node(node) or {}).get("state")
            self.note(event, f"node {node}, {state}: {event.kind} by another session than the one with its lock")


class NothingLeft(Rule):
    """At the end every server and address has a record, and every record a server."""

    name = "nothing left"

    def end(self, history: History, tree: Tree) -> None:
        nodes = dict(tree.below(NODES))
        known = {
            (str(node.get("provider")), str(node.get("external_id"))): ident
            for ident, node in nodes.items()
            if node.get("provider") not in history.cloudless
        }
        remains = history.remains
        for cloud, server in sorted(remains.servers - set(known)):
            self.note(None, f"server {server} in {cloud} has no record")
        for place in sorted(set(known) - remains.servers):
            self.note(None, f"node {known[place]} is {nodes[known[place]].get('state')} and has no server {place}")
        for (cloud, address), server in sorted(remains.addresses.items()):
            if (cloud, server) not in remains.servers:
                self.note(None, f"floating IP {address} in {cloud} belongs to no server")
        for ident, _launch in tree.below(f"{OWN}/launches"):
            if ident not in nodes:
                self.note(None, f"the launch of node {ident} is left")
        for ident, node in nodes.items():
            holder = tree.holder(ident)
            if node.get("state") not in ("ready", *KEPT) or (holder is not None and node.get("state") == "ready"):
                self.note(None, f"node {ident} is {node.get('state')}, locked by {holder}")


class Foreign(Rule):
    """What others have in the cloud is untouched."""

    name = "foreign"

    def end(self, history: History, tree: Tree) -> None:
        for thing in sorted(history.remains.foreign - history.remains.found):
            self.note(None, f"{thing} is gone")


class Ended(Rule):
    """Every request ends, or waits with a reason that is true; a failed one tells why, and that is true as well."""

    name = "ended"

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, tuple[float, list[str]]] = {}
        self._configured: list[Configured] = []
        self._typos: list[Typo] = []
        self._tried: dict[str, set[str]] = {}
        self._failed: dict[str, Event] = {}
        self._told: dict[str, dict[str, Any]] = {}

    def after(self, event: Event, tree: Tree) -> None:
        if isinstance(event, Configured):
            self._configured.append(event)
        if isinstance(event, Typo):
            self._typos.append(event)
        if not isinstance(event, Change) or event.kind == DELETE:
            return
        found = _document(event)
        if (request := record_of(event.path, REQUESTS)) is not None:
            self._asked.setdefault(request, (event.at, list(found.get("node_types") or [])))
            if found.get("state") == "failed":
                self._failed.setdefault(request, event)
        elif (node := record_of(event.path, NODES)) is not None and found.get("allocated_to"):
            tried = self._tried.setdefault(str(found["allocated_to"]), set())
            tried.add(node)
        elif (request := record_of(event.path, f"{OWN}/waits")) is not None and found.get("code") == "failed":
            self._told[request] = found

    def end(self, history: History, tree: Tree) -> None:
        for request, event in self._failed.items():
            self._judge_failure(request, event)
        for request, found in tree.below(REQUESTS):
            if found.get("state") in WAITING:
                self._judge_wait(request, found, tree)

    def _judge_failure(self, request: str, event: Event) -> None:
        stored = self._told.get(request, {})
        told = stored.get("reasons") or []
        # Without a pool that offers its labels there is a sentence only.
        if not told and not stored.get("text"):
            self.note(event, f"request {request} has failed and nothing tells why")
        if all(item.get("code") in NOT_OFFERED for item in told) and self._always_offered(request, event.at):
            self.note(event, f"request {request} has failed for {told}, but a pool has offered it all the time")
        if any(item.get("code") == "launch-failed" for item in told) and not self._tried.get(request):
            self.note(event, f"request {request} has failed for its launches, and there was none")

    def _always_offered(self, request: str, until: float) -> bool:
        """True when one pool had all of the labels from the beginning of the request to its failure."""
        asked, labels = self._asked[request]
        known = self._noticed(asked)
        past = [item for item in self._configured if item.at <= known][-1:]
        during = [item for item in self._configured if known < item.at <= until]
        offers = [
            {name for name, (most, offered) in item.pools.items() if most != 0 and offered >= set(labels)}
            for item in (*past, *during)
        ]
        return bool(offers) and bool(set.intersection(*offers))

    def _noticed(self, at: float) -> float:
        """The time whose configuration every launcher knows at *at*: while there is a typo nothing else can be read."""
        left = NOTICED
        for typo in reversed(self._typos):
            if typo.at < at:
                well = max(0.0, at - typo.until)
                if well >= left:
                    break
                left -= well
                at = typo.at
        return at - left

    def _judge_wait(self, request: str, found: Mapping[str, Any], tree: Tree) -> None:
        reason = tree.document(f"{OWN}/waits/{request}") or {}
        if not reason.get("code"):
            self.note(None, f"request {request} is {found.get('state')} and nothing tells why")
        elif reason["code"] != "no-room":
            self.note(None, f"request {request} waits for {reason['code']}, which has ended")
        elif (problem := self._room(found, tree)) is not None:
            self.note(None, f"request {request} waits for room, and {problem}")

    def _room(self, found: Mapping[str, Any], tree: Tree) -> str | None:
        """Why its wait for room is not true: a pool by its own bound could take it."""
        labels = set(found.get("node_types") or [])
        used: dict[str, int] = {}
        for _ident, node in tree.below(NODES):
            place = f"{node.get('provider')}/{node.get('pool')}"
            used[place] = used.get(place, 0) + 1
        for name, (most, offered) in (self._configured[-1].pools if self._configured else {}).items():
            if offered >= labels and most - used.get(name, 0) >= len(found["node_types"]):
                return f"{name} has {used.get(name, 0)} nodes of {most}"
        return None


class Images(Rule):
    """Of each image that a builder lists, a provider keeps the two uploads that became ready last, or what there is."""

    name = "images"

    def before(self, event: Event, tree: Tree) -> None:
        if not isinstance(event, Change) or event.kind == CREATE:
            return
        found = UPLOAD.fullmatch(event.path)
        record = tree.document(event.path) or {}
        if found is None or record.get("state") != "ready":
            return
        after = _document(event) if event.kind == SET else {}
        if after.get("state") == "ready":
            return
        others = [path for path in self._ready(tree) if path != event.path]
        same = [match for path in others if (match := UPLOAD.fullmatch(path)) and _place(match) == _place(found)]
        if len({match["build"] for match in same} - {found["build"]}) < KEPT_BUILDS:
            self.note(event, f"upload {event.path} is {after.get('state', 'gone')}, and {len(same)} others are left")

    @staticmethod
    def _ready(tree: Tree) -> list[str]:
        paths = [path for path in tree.znodes if UPLOAD.fullmatch(path)]
        return [path for path in paths if (tree.document(path) or {}).get("state") == "ready"]


def _place(found: re.Match[str]) -> tuple[str, str]:
    return found["image"], found["provider"]


class ServedMeanwhile(Rule):
    """While nodepool.yaml cannot be used, requests are served by the configuration that was valid last.

    A run has no other trouble of the clouds or the configuration then. It is judged only where requests were asked for
    all the time, and as many were served shortly before.
    """

    name = "served meanwhile"

    def __init__(self) -> None:
        super().__init__()
        self._typos: list[Typo] = []
        self._asked: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        """Request → when it failed or was deleted."""
        self._served: list[float] = []

    def after(self, event: Event, tree: Tree) -> None:
        if isinstance(event, Typo):
            self._typos.append(event)
        if not isinstance(event, Change) or (request := record_of(event.path, REQUESTS)) is None:
            return
        state = _document(event).get("state")
        if event.kind == CREATE:
            self._asked[request] = event.at
        elif event.kind == DELETE or state == "failed":
            self._ended.setdefault(request, event.at)
        elif state == "fulfilled":
            self._served.append(event.at)

    def end(self, history: History, tree: Tree) -> None:
        for typo in self._typos:
            length = typo.until - typo.at
            waited = [key for key, at in self._asked.items() if typo.at <= at < typo.until - length / 2]
            waited = [key for key in waited if self._ended.get(key, typo.until) >= typo.until]
            served = _within(self._served, typo.at, typo.until)
            enough = min(len(waited), _within(self._served, typo.at - length, typo.at)) >= ENOUGH
            if length >= SHORTEST_TYPO and enough and not served:
                text = f"no request was served while nodepool.yaml could not be used for {length:.0f} s"
                self.note(None, f"{text}, and {len(waited)} waited")


def _within(moments: Iterable[float], begin: float, end: float) -> int:
    return sum(1 for moment in moments if begin <= moment < end)


class Refusals(Rule):
    """A cloud refuses few creates: those that were on their way together count once.

    A create that was sent before the launcher has stored the refusal of another one was on its way together with it.
    """

    name = "refusals"

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[str, list[CreateRefused]] = {}
        self._known: dict[str, float] = {}
        """Provider → when the refusal that began its last group was stored."""
        self._pools: dict[str, int] = {}

    def after(self, event: Event, tree: Tree) -> None:
        if isinstance(event, Configured):
            for name in event.pools:
                provider = name.partition("/")[0]
                many = sum(1 for other in event.pools if other.startswith(f"{provider}/"))
                self._pools[provider] = max(self._pools.get(provider, 0), many)
        if isinstance(event, Change) and (pool := record_of(event.path, f"{OWN}/freezes")) is not None:
            provider = str((tree.document(f"{OWN}/pools/{pool}") or {}).get("provider_name"))
            self._known.setdefault(provider, event.at)
        if isinstance(event, CreateRefused):
            self._refused(event)

    def _refused(self, event: CreateRefused) -> None:
        groups = self._groups.setdefault(event.cloud, [])
        if groups and event.began <= self._known.get(event.cloud, groups[-1].at + STORED):
            return
        groups.append(event)
        self._known.pop(event.cloud, None)
        recent = [one for one in groups if one.at > event.at - WINDOW]
        most = MOST_REFUSED * self._pools.get(event.cloud, 1)
        if len(recent) > most:
            self.note(event, f"{event.cloud} has refused {len(recent)} times within {WINDOW:g} s, {most} are allowed")


RULES: tuple[type[Rule], ...] = (
    OneRequest,
    Kept,
    Locked,
    NothingLeft,
    Foreign,
    Ended,
    Images,
    ServedMeanwhile,
    Refusals,
)


def judge(history: History, rules: Iterable[type[Rule]] = RULES) -> list[str]:
    """A sentence for each violation."""
    return [str(one) for one in violations(history, rules)]


def violations(history: History, rules: Iterable[type[Rule]]) -> list[Violation]:
    """All violations of these rules."""
    made = [rule() for rule in rules]
    tree = Tree()
    for rule in made:
        rule.begin(history)
    for event in filter(history.concerns, history.events):
        for rule in made:
            rule.before(event, tree)
        if isinstance(event, Change):
            tree.apply(event)
        for rule in made:
            rule.after(event, tree)
    for rule in made:
        rule.end(history, tree)
    return [one for rule in made for one in rule.wrong]


def _document(change: Change) -> dict[str, Any]:
    return document(change.data) or {}
