# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One sweep of one provider, for a launcher cycle and for a sweep by hand: read, judge, delete, store."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....model.errors import CloudError
from ....model.lines import Line, Subject, Trouble
from ....sweeping.candidate import Kind, LeakCandidate
from ....sweeping.find import AdoptionRules, Seen, find
from ....sweeping.judge import Judgement, Rules, judge
from ...frame.tree_identity import confirm_tree
from ...frame.workers import WorkerSet
from ..context import usage_book
from ..context.context import Context
from ..context.sweep_memory import SweepMemory
from .calls import CALLS, READS, may_go
from .tree_view import known_to


@dataclass(eq=False, kw_only=True)
class ProviderSweep:
    """One sweep, used by the cycle's thread; *workers* make the calls.

    The caller must hold the lock of the provider's sightings.

    :param kinds: kinds that are judged.
    :param spared: returns True for the id of a resource that is being removed already.
    :param remove_server: removes a leaked server; None to delete it with one call.
    :param shown: kind → (UNIX time at which it was asked for, the answer of the cloud).

    *errors*: kind → why it could not be read. *outcomes*: key → the error of its deletion, "" if the cloud accepted it,
    None if the node's record shows that the thing is in use.
    """

    context: Context
    name: str
    client: CloudClient
    workers: WorkerSet
    rules: Rules
    kinds: Collection[str] = Kind.ALL
    claims: AdoptionRules = field(default_factory=AdoptionRules)
    spared: Callable[[str], bool] = lambda ident: False
    remove_server: Callable[[LeakCandidate], None] | None = None
    shown: dict[str, tuple[float, Any]] = field(default_factory=dict)
    errors: dict[str, CloudError] = field(default_factory=dict)
    outcomes: dict[str, str | None] = field(default_factory=dict)
    judgement: Judgement = field(default_factory=Judgement)
    _unread: list[str] = field(default_factory=list)
    _calls: int = 0
    _stored: SweepMemory = field(init=False)

    @property
    def busy(self) -> bool:
        """True while a call is under way."""
        return self._calls > 0

    def read(self, kinds: Collection[str]) -> None:
        """Begin to read these kinds, one after the other; an error with one kind does not stop the others."""
        self._unread = [kind for kind in READS if kind in kinds]
        self._read_next()

    def _read_next(self) -> None:
        if not self._unread:
            return
        kind = self._unread.pop(0)
        _attribute, what, call = READS[kind]
        clock = self.context.now

        def answered(result: Any, error: CloudError | None) -> None:
            if error is None:
                self.shown[kind] = result
            else:
                self.errors[kind] = error
                self.context.account.say(Trouble(f"sweeping {self.name}: {error}", provider=self.name))
            self._calls -= 1
            self._read_next()

        self._calls += 1
        # Do not use the actor's calls: an error of neutron or cinder must not block the use of nova.
        self.workers.submit(what, lambda: (clock(), call(self.client)), answered)

    def judge(self) -> None:
        """Judge all findings. The list of servers must have been read."""
        store = self.context.store
        self._stored = SweepMemory.of_provider(store, self.name)
        kinds = [kind for kind in (*self.shown, Kind.LAUNCH) if kind in self.kinds]
        seen = Seen(**{READS[kind][0]: value for kind, (_unused, value) in self.shown.items()})
        candidates = [
            candidate
            for candidate in find(seen, known_to(store, self.context.site, self.name, claims=self.claims))
            if candidate.kind in kinds and not self.spared(candidate.id)
        ]
        seen_at = self.shown[Kind.SERVER][0]
        self.judgement = judge(candidates, kinds, self._stored.sightings, self.rules, seen_at)
        self.context.account.sweeps.found(self.name, kinds, self.judgement.rows)

    def delete(self) -> None:
        """Begin to delete the leaks that are due and that their node's record does not use; store the judgement."""
        context, store, sightings = self.context, self.context.store, self.judgement.sightings
        if self.judgement.due:
            confirm_tree(store, context.site)
        for candidate in (row.candidate for row in self.judgement.due):
            if not may_go(store, candidate):
                self.outcomes[candidate.key] = None
            elif candidate.kind == Kind.LAUNCH:
                context.add_tombstone(candidate.id, self.name)
                usage_book.forget_launch(context, candidate.id)
                context.account.sweeps.deleted(self.name, candidate.kind)
                del sightings[candidate.key]
                self.outcomes[candidate.key] = ""
            elif candidate.kind == Kind.SERVER and self.remove_server is not None:
                self.remove_server(candidate)
            else:
                self._call(candidate)
        self.save()

    def _call(self, candidate: LeakCandidate) -> None:
        request, call = CALLS[candidate.kind]
        what = f"{self.name}: {candidate.kind} {candidate.id}"
        about = Subject(provider=self.name, node=candidate.node_id)
        account, sightings = self.context.account, self.judgement.sightings

        def answered(existed: bool | None, error: CloudError | None) -> None:
            self._calls -= 1
            self.outcomes[candidate.key] = "" if error is None else str(error)
            # A resource that remains is tried again after growing intervals.
            answer = "the delete was accepted, but it still exists" if error is None else str(error)
            sightings[candidate.key] = sightings[candidate.key].attempt(self.context.now(), answer)
            if error is None:
                account.sweeps.deleted(self.name, candidate.kind)
            else:
                account.sweeps.failed(self.name, candidate.kind)
                account.say(Trouble(f"{what} could not be deleted: {error}", **about))

        account.say(Line(f"{what} leaked: {candidate.text}", **about))
        self._calls += 1
        self.workers.submit(request, lambda: call(self.client, candidate.id), answered, changes=True)

    def save(self) -> None:
        """Store the sightings for the next sweep, if they have changed; call it again after the deletions' answers."""
        looked = {kind: asked_at for kind, (asked_at, _unused) in self.shown.items()}
        news = {kind for kind, asked_at in looked.items() if asked_at != self._stored.looked.get(kind)}
        if self.judgement.sightings != self._stored.sightings or news - {Kind.SERVER}:
            looked = {**self._stored.looked, **looked}
            self._stored = SweepMemory(self._stored.path, dict(self.judgement.sightings), looked)
            self._stored.save(self.context.store)
