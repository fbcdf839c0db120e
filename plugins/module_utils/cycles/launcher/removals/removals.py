# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes servers completely: deletes the floating IP, then the server, then waits until the list does not show it.

A delete that has no effect is repeated after growing intervals, by force if the cloud allows it, and reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....clients.zookeeper.link.paths import segment
from ....model.backoff import backoff
from ....model.cloud import FloatingIp
from ....model.documents import seconds, whole_or_zero
from ....model.errors import (
    CloudConflict,
    CloudError,
    CloudRefused,
)
from ....model.launch import written_by
from ....model.lines import Trouble, amount, word_for
from ....model.own_tree import STUCK
from ..context.context import Context
from ..provider.actor import ProviderActor

ASK_AGAIN = 60.0
"""Seconds after which the delete of a server that still exists is sent again; longer each time once it is stuck.

While nova deletes one server after the other, those that it shows as being deleted wait for LONGEST_PAUSE: a real nova
took nine minutes for a hundred, and each further delete waits behind the first.
"""
STUCK_AFTER = 3
"""Number of refused or ineffective deletes after which a removal is stuck: it is reported, and tried by force."""
LONGEST_PAUSE = 300.0
DENIED = "the cloud answers the delete with 404 (it knows no such server), but its list shows it"
"""A list that shows the server is believed more than the 404: nova lists servers that its API has lost the mapping of,
and what stands before nova answers paths that it does not know so. A later list shows whether it is gone."""
FRESH = 15.0
"""Seconds after its first accepted delete for which a server that seemed stuck is watched like any other."""
PATIENCE = 660.0
"""Seconds for which a patient removal waits for lists that are read anyway: the sweep reads one every five minutes, and
two are needed where the project is empty."""
UNHEARD_PAUSE = 10.0
"""Largest number of seconds to the next try after a call without an answer."""


@dataclass(eq=False)
class Removal:
    """The removal of one server and its floating IP. *asked_at*: when the cloud accepted the delete.

    *asks*: number of accepted deletes; *tries*: number of failed calls, the last error of which is *trouble*.
    *doubted*: the mark on a floating IP that may exist, but whose id is not known.
    """

    actor: ProviderActor
    server_id: str | None
    floating_ip_id: str | None
    done: list[Callable[[], None]]
    node_id: str | None = None
    doubted: str | None = None
    asked_at: float | None = None
    began: float = 0.0
    tries: int = 0
    asks: int = 0
    address_tries: int = 0
    not_before: float = 0.0
    busy: bool = False
    trouble: str = ""
    locked: bool = False
    heard: bool = True
    """False if the last call had no answer."""
    no_force: bool = False
    stored: dict[str, Any] = field(default_factory=dict)
    news: bool = False
    """True while the stored document is out of date."""
    patient: bool = False
    """True when nobody needs to know soon that the server is gone."""
    left: Callable[[], None] | None = None
    """Called once when the removal is hopeless, by whoever does not want to wait for it any longer."""

    @property
    def stuck(self) -> bool:
        """True when it has been tried often enough to be reported."""
        return self.tries >= STUCK_AFTER or self.asks >= STUCK_AFTER

    @property
    def hopeless(self) -> bool:
        """True when the removal is stuck and this cycle has tried it without success, too."""
        return self.stuck and not self.busy and (self.asked_at is not None or self.not_before > 0)

    def is_fresh(self, now: float) -> bool:
        """Return True for FRESH seconds after the first accepted delete: earlier errors may have been the API's."""
        return self.asks == 1 and self.asked_at is not None and now - self.asked_at < FRESH

    @property
    def pause(self) -> float:
        """Seconds from an accepted delete to the next."""
        return min(LONGEST_PAUSE, ASK_AGAIN * max(1, self.asks - STUCK_AFTER + 1))

    @property
    def due(self) -> float:
        """UNIX time at which the next call may be made."""
        return max(self.not_before, self.actor.health.wait_until)

    @property
    def by_force(self) -> bool:
        """True when the next delete should be a forced one."""
        return self.stuck and self.heard and not self.locked and not self.no_force

    def document(self) -> dict[str, Any]:
        """Return the removal for the result and for the next cycle."""
        answer = (
            self.trouble
            or f"{amount(self.asks, 'delete')} {word_for(self.asks, 'was', 'were')} accepted, but it still exists"
        )
        return {
            "provider": self.actor.provider.name,
            "server": self.server_id,
            "floating_ip": self.floating_ip_id,
            "node": self.node_id,
            "since": round(self.began, 3),
            "tries": self.tries + self.asks,
            "locked": self.locked,
            "answer": answer,
        }


class Removals:
    """All removals of a cycle by server id, or by node id if there is no server."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._removals: dict[str, Removal] = {}
        self._gone_at: dict[str, float] = {}
        """Provider → UNIX time at which this cycle last saw that a server of it is gone."""

    def __len__(self) -> int:
        return len(self._removals)

    def __contains__(self, key: str) -> bool:
        return key in self._removals

    def start(
        self,
        key: str,
        actor: ProviderActor,
        server_id: str | None,
        floating_ip_id: str | None,
        done: Callable[[], None],
        node_id: str | None = None,
        doubted: str | None = None,
        left: Callable[[], None] | None = None,
        *,
        patient: bool = False,
    ) -> None:
        """Remove a server; the cycle's thread calls *done* when it is gone.

        :param node_id: the node that the server belongs to, for reports.
        :param doubted: the mark on a floating IP that the server may have although no answer said so; it is looked for.
        :param left: called instead of *done* when the cloud does not delete the server. The removal goes on.
        :param patient: nobody needs to know soon that the server is gone: see PATIENCE.
        """
        if key in self._removals:
            self._removals[key].patient &= patient
            self._removals[key].done.append(done)
            self._removals[key].doubted = self._removals[key].doubted or doubted
            return
        began = self._context.now()
        removal = Removal(
            actor, server_id, floating_ip_id, [done], node_id, doubted, began=began, patient=patient, left=left
        )
        before = self._context.store.own.get(_path(key))
        if before is not None:
            # The removal was stuck in an earlier cycle, too.
            removal.stored = before
            removal.began = min(seconds(before.get("since")) or removal.began, removal.began)
            removal.tries = max(0, whole_or_zero(before.get("tries")))
            removal.trouble = str(before.get("answer") or "")
        self._removals[key] = removal

    def asked(self, actor: ProviderActor, *, patient: bool = False) -> list[float]:
        """Return since when the provider's removals wait for their servers to vanish.

        Stuck removals are left out until the list is older than their pause, unless their first accepted delete is
        recent: they need only a rare look.

        :param patient: nobody waits for room: patient removals wait for a list that is read anyway.
        """
        now = self._context.now()
        return [
            removal.asked_at
            for removal in self._removals.values()
            if removal.actor is actor
            and removal.asked_at is not None
            and not removal.busy
            and (not removal.stuck or removal.is_fresh(now) or now - actor.view.listed_from >= removal.pause)
            and not (patient and removal.patient and now - removal.asked_at < PATIENCE)
        ]

    def acknowledged(self, actor: ProviderActor) -> list[tuple[str, float]]:
        """Return (node, when nova agreed to delete its server) of the provider's removals that are not stuck."""
        return [
            (removal.node_id, removal.asked_at)
            for removal in self._removals.values()
            if removal.actor is actor
            and removal.node_id
            and removal.server_id is not None
            and removal.asked_at is not None
            and not removal.busy
            and not removal.stuck
        ]

    def stuck(self) -> list[dict[str, Any]]:
        """Return the stuck removals: provider, server, node, since when, and the last answer."""
        return [removal.document() for key, removal in self._removals.items() if removal.stuck]

    def stuck_nodes(self) -> set[str]:
        """Return the nodes of stuck removals: their room will not be free soon."""
        return {removal.node_id for removal in self._removals.values() if removal.stuck and removal.node_id}

    def hopeless_nodes(self) -> set[str]:
        """Return the stuck nodes that this cycle has tried to delete."""
        return {removal.node_id for removal in self._removals.values() if removal.hopeless and removal.node_id}

    @property
    def moving(self) -> int:
        """The number of removals that are not hopeless: a settled cycle does not wait for the others."""
        return sum(1 for removal in self._removals.values() if not removal.hopeless)

    def next_due(self, now: float) -> float:
        """Return the seconds until a removal may be tried again."""
        waits = [item.due - now for item in self._removals.values() if not item.busy and item.asked_at is None]
        return max(0.05, min(waits, default=float("inf")))

    def drop_provider(self, actor: ProviderActor) -> None:
        """Forget the removals at a provider that moves to another host."""
        self._removals = {key: one for key, one in self._removals.items() if one.actor is not actor}

    def drop(self) -> None:
        """Forget all removals: servers that still exist are found again by their nodes."""
        self._removals.clear()

    def step(self, now: float) -> None:
        """Advance every removal as far as possible."""
        for key, removal in list(self._removals.items()):
            if removal.news:
                self._remember(key, removal)
            if removal.busy or now < removal.due:
                continue
            if removal.server_id is not None and self._is_gone(removal):
                self._note_time(removal, now)
                removal.server_id = None
            if removal.left is not None and removal.hopeless:
                self._leave(removal, removal.left)
            if removal.floating_ip_id is not None and (
                removal.server_id is None or removal.address_tries < STUCK_AFTER
            ):
                self._delete_address(removal)
            elif removal.server_id is None and removal.doubted is not None:
                self._look_for_address(removal, removal.doubted)
            elif removal.server_id is None:
                self._finish(key, removal)
            elif removal.asked_at is None or self._is_overdue(removal, removal.asked_at, now):
                self._delete_server(removal)

    def is_stuck(self, server_id: str) -> bool:
        """Return True for a server that the cloud has not deleted in spite of several tries, also of earlier cycles."""
        return server_id in self._removals or self._context.store.own.get(_path(server_id)) is not None

    # -- inside --------------------------------------------------------------------------------------------------

    def _leave(self, removal: Removal, left: Callable[[], None]) -> None:
        """Tell who waits for a hopeless removal that it need not wait, unless another one waits, too."""
        if removal.server_id is None or removal.floating_ip_id or removal.doubted or len(removal.done) != 1:
            return
        removal.done, removal.left, removal.node_id = [], None, None
        left()

    def _is_overdue(self, removal: Removal, asked_at: float, now: float) -> bool:
        """Return True if a delete accepted at *asked_at* had enough time and a later list still shows the server."""
        actor = removal.actor
        told = actor.view.inquiries.last(removal.server_id or "")
        if removal.server_id in actor.view.missing and (told is None or told.asked_at <= asked_at):
            return False  # nova is being asked about it
        server = actor.view.servers.get(removal.server_id or "")
        in_work = server is not None and (server.task_state == "deleting" or server.status == "DELETED")
        gets_on = now - self._gone_at.get(actor.provider.name, 0.0) <= ASK_AGAIN
        pause = LONGEST_PAUSE if in_work and gets_on else removal.pause
        return now - asked_at > pause and actor.view.listed_from - asked_at > pause / 2

    def _note_time(self, removal: Removal, now: float) -> None:
        self._gone_at[removal.actor.provider.name] = now
        # What a patient removal waits for is not the cloud.
        if removal.asks == 1 and removal.asked_at is not None and not removal.patient:
            gone = removal.actor.given_back.nodes.get(removal.node_id or "", now)
            removal.actor.experience.delete_times.add(gone - removal.asked_at)

    def _finish(self, key: str, removal: Removal) -> None:
        del self._removals[key]
        if removal.stored:
            self._context.store.own.delete(_path(key))
        for done in removal.done:
            done()

    def _is_gone(self, removal: Removal) -> bool:
        """Return True if a list that was asked for after the delete was accepted does not show the server any more."""
        actor = removal.actor
        if removal.asked_at is None or actor.view.listed_from <= removal.asked_at:
            return False
        server = actor.view.servers.get(removal.server_id or "")
        # A server shown as DELETED still exists and counts: a delete that broke off leaves it in this status.
        return server is None or server.status == "SOFT_DELETED"

    def _delete_address(self, removal: Removal) -> None:
        floating_ip_id = removal.floating_ip_id or ""
        client = removal.actor.client

        def answered(existed: bool | None, error: CloudError | None) -> None:
            removal.busy = False
            if error is None:
                removal.floating_ip_id = None
                removal.trouble = ""
            else:
                removal.address_tries += 1
                self._failed(removal, error)

        removal.busy = True
        removal.actor.call("DELETE /floatingips/{id}", lambda: client.delete_floating_ip(floating_ip_id), answered)

    def _look_for_address(self, removal: Removal, mark: str) -> None:
        """Look for a floating IP that an unanswered create may have made, after the server no longer exists.

        A create that is still under way can no longer succeed then, as the server's port no longer exists.
        """

        def answered(known: list[FloatingIp] | None, error: CloudError | None) -> None:
            removal.busy = False
            if known is None:
                self._failed(removal, error or CloudError("no answer"))
                return
            name, site = removal.actor.provider.name, self._context.site
            told = [(item.id, written_by(item.description, name, site)) for item in known]
            removal.floating_ip_id = next((key for key, written in told if written and written.mark == mark), None)
            if removal.floating_ip_id is None:
                removal.doubted = None

        removal.busy = True
        removal.actor.call("GET /floatingips", removal.actor.client.list_floating_ips, answered)

    def _delete_server(self, removal: Removal) -> None:
        server_id = removal.server_id or ""
        client = removal.actor.client
        force = removal.by_force

        def answered(existed: bool | None, error: CloudError | None) -> None:
            removal.busy = False
            if force and isinstance(error, CloudRefused) and not isinstance(error, CloudConflict):
                # The cloud does not allow forced deletes: delete as before.
                removal.no_force = True
            elif error is not None:
                self._failed(removal, error)
            elif not existed and server_id not in removal.actor.view.servers:
                removal.server_id = None
            else:
                removal.asked_at = self._context.now()
                removal.asks += 1
                removal.heard, removal.locked, removal.trouble = True, False, "" if existed else DENIED
                removal.news = True

        removal.busy = True
        removal.actor.view.missing.leave(server_id, patient=removal.patient)
        if force:
            removal.actor.call("POST /servers/{id}/action", lambda: client.force_delete_server(server_id), answered)
        else:
            removal.actor.call("DELETE /servers/{id}", lambda: client.delete_server(server_id), answered)

    def _failed(self, removal: Removal, error: CloudError) -> None:
        removal.trouble = str(error)
        # Nonsense after a success is a proxy's, which may go at any time.
        removal.heard = error.status is not None and error.status >= 300
        removal.locked = isinstance(error, CloudConflict) and "is locked" in str(error)
        # The pause grows for a server that stays; an API that does not answer may work again at any time.
        most = LONGEST_PAUSE if removal.heard else UNHEARD_PAUSE
        removal.tries += 1
        pause = backoff(removal.tries, first=2.0, most=most, spread=0.25, chance=self._context.random())
        # A pause that the API asked for is part of its health, see Removal.due.
        removal.not_before = self._context.now() + pause
        removal.news = True

    def _remember(self, key: str, removal: Removal) -> None:
        """Store a removal that is stuck, so that the next cycle knows it from its start."""
        removal.news = False
        if not removal.stuck:
            return
        document = removal.document()
        if not removal.stored:
            line = f"server {removal.server_id} cannot be deleted: {document['answer']}"
            provider, node = removal.actor.provider.name, removal.node_id
            self._context.account.say(Trouble(line, provider=provider, node=node, server=removal.server_id))
        removal.stored = {**document, "tried": self._context.now()}
        self._context.store.own.put(_path(key), removal.stored)


def _path(key: str) -> str:
    return f"{STUCK}/{segment(key)}"
