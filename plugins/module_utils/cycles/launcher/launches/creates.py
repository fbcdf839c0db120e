# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles the results of creates: their answers, also late ones, and servers that the list shows before an answer."""

from __future__ import annotations

from dataclasses import replace

from ....launching import machine
from ....launching.classifier import Verdict, of_error
from ....launching.known_answers import SUCCESS, ZONE
from ....launching.machine import Failure
from ....model import owner
from ....model.cloud import Server
from ....model.errors import CloudError
from ....model.launch import Phase, node_of_mark
from ....model.lines import Line, Trouble
from ..context.context import Context
from ..context.ledger import size_of
from ..provider.actor import ProviderActor
from ..removals.removals import Removals
from .creating import CreateDone, lost_its_image, other_suffix, renew_image
from .gates import Gates
from .launch_in_progress import LaunchesInProgress, LaunchInProgress, pool_id_of
from .outcomes import Outcomes

BROKEN = 500
"""The status of an answer when nova fails to handle a call; 502 to 504 come from a proxy or tell that nova is away."""
ENDED = ("ERROR", "DELETED", "SOFT_DELETED")
"""The statuses of a server that will not become ACTIVE any more."""


class Creates:
    """The creates of a cycle's launches."""

    def __init__(
        self, context: Context, gates: Gates, removals: Removals, in_progress: LaunchesInProgress, outcomes: Outcomes
    ) -> None:
        self._context = context
        self._gates = gates
        self._removals = removals
        self._in_progress = in_progress
        self._outcomes = outcomes
        self._examined: dict[str, float] = {}
        """Provider → UNIX time of the last list whose servers were compared with the launches."""
        self._kept: dict[str, set[str]] = {}
        """Provider → ids of the servers that belong to a node whose launch has succeeded."""

    def drop_provider(self, name: str) -> None:
        """Forget which servers of a provider were examined, as it moves to another host."""
        self._examined.pop(name, None)
        self._kept.pop(name, None)

    def drop(self) -> None:
        """Forget which servers were examined, as the session is lost or the cycle ends."""
        self._examined.clear()
        self._kept.clear()

    # -- answers -------------------------------------------------------------------------------------------------

    def answered(self, ongoing: LaunchInProgress, mark: str, made: CreateDone | None, error: CloudError | None) -> None:
        """Handle the answer to the create with that mark, or the error that no answer will come."""
        launch, now = ongoing.launch, self._context.now()
        if made is not None:
            ongoing.actor.creates.answered(made.seconds, ongoing.build.beside if ongoing.build is not None else 0)
        if not self._outcomes.is_ours(ongoing) or launch.mark != mark:
            # Another cycle has the launch and looks for the server by its mark, or this cycle has sent another create.
            self._too_late(ongoing.actor, mark, made)
        elif launch.phase != Phase.CREATING:
            # The list has shown its server before the answer came.
            if made is not None:
                launch.answered = True
                self._accepted(ongoing, now)
        elif made is not None:
            ongoing.busy = False
            machine.created(launch, made.server_id, now)
            ongoing.actor.known.denials.confirm(launch.az, now)
            self._accepted(ongoing, now)
            self._started(ongoing, made.server_id, now)
        elif error is not None:
            ongoing.busy = False
            self._refused(ongoing, error, now)

    def _refused(self, ongoing: LaunchInProgress, error: CloudError, now: float) -> None:
        if lost_its_image(ongoing, error, now):
            self._outcomes.fail(ongoing, Failure.IMAGE, str(error), now, Verdict(owner.IMAGE))
            ongoing.denied_image = ongoing.launch.cloud_image_id
            self._gates.breakers.denied(ongoing.launch.provider, ongoing.label.image_name, ongoing.flavor)
            renew_image(self._context, ongoing, now)
            return
        if not error.unclear:
            verdict, text = self._judged(
                ongoing, of_error(error, self._outcomes.seen_by(ongoing, now)), str(error), now
            )
            self._outcomes.fail(ongoing, machine.failure_of(verdict, fault=False), text, now, verdict)
            return
        launch, answers = ongoing.launch, ongoing.actor.creates.answers
        ongoing.broken = error.status == BROKEN
        silent = error.status is None and now - launch.asked_at >= answers.floor
        if silent:
            answers.give_up(launch.asked_at, now)
        silent_until = launch.asked_at + answers.most if silent else 0.0
        machine.create_unclear(launch, now, ongoing.actor.creates.settle, silent_until, str(error))
        launch.owner = owner.CLOUD
        self._context.save(launch)
        line = f"node {ongoing.node.id}: {error}; checking whether the server was created anyway"
        self._context.account.say(Trouble(line, **ongoing.subject))

    def _judged(self, ongoing: LaunchInProgress, verdict: Verdict, text: str, now: float) -> tuple[Verdict, str]:
        """Return the verdict and the text that count, after what can be mended at once was noted in the launch.

        What nova says does not exist is read anew before the failure counts: the launcher's knowledge may be old.
        """
        launch = ongoing.launch
        if verdict.names == "name":
            ongoing.actor.experience.unique_names = True
            again, launch.suffix = bool(launch.suffix), other_suffix(self._context)
            # Two names in a row that are taken are no chance: then creates are spaced as for a trouble of the cloud.
            verdict = replace(verdict, resources=(SUCCESS,)) if again else verdict
            return verdict, f"{text}; the next server gets a new name"
        if verdict.names == "zone" and self._may_be_had_elsewhere(ongoing, now):
            return Verdict(owner.CLOUD, (ZONE,), names="zone"), text
        anew = ongoing.has_reread(now)
        if verdict.names and verdict.owner in (owner.LABEL, owner.CLOUD):
            ongoing.actor.known.doubt(now)
        if verdict.owner == owner.LABEL and verdict.names and not anew:
            launch.reread = True
            launch.first_failed = launch.first_failed or now
            return Verdict(owner.US, names=verdict.names), (
                f"{text}; the cloud's images, flavors and networks are read again first"
            )
        return verdict, text

    @staticmethod
    def _may_be_had_elsewhere(ongoing: LaunchInProgress, now: float) -> bool:
        """Return True if nova had the zone of a launch a moment ago, or does not deny all others too."""
        denials = ongoing.actor.known.denials
        zones = {ongoing.launch.az or "", *ongoing.zones}
        return denials.is_lost(ongoing.launch.az or "", now) or not all(map(denials.is_denied, zones))

    def _accepted(self, ongoing: LaunchInProgress, now: float) -> None:
        sent_at, size = ongoing.launch.asked_at or ongoing.launch.started, size_of(ongoing.node)
        self._gates.freezes.accepted(pool_id_of(self._context, ongoing), ongoing.actor, size, sent_at)
        self._outcomes.accepted(ongoing, now)

    def _started(self, ongoing: LaunchInProgress, server_id: str, now: float) -> None:
        """Store that the launch has its server."""
        ongoing.node.external_id = server_id
        batch = self._context.store.batch()
        self._context.save(ongoing.launch, batch)
        self._context.store.nodes.write(ongoing.node, batch=batch)
        batch.send_later()
        self._context.account.step(ongoing.node.id, "created", now)

    def _too_late(self, actor: ProviderActor, mark: str, made: CreateDone | None) -> None:
        """Delete the server of a late answer if its create was given up: the launch has another server or is over."""
        if made is None or self._context.store.state != "connected":
            return
        launch = self._context.launch(node_of_mark(mark))
        if launch is not None and mark in launch.superseded:
            self._remove(actor, made.server_id)

    # -- the list ------------------------------------------------------------------------------------------------

    def compare_lists(self, now: float) -> None:
        """Compare each new list of servers with the launches.

        A launch without a server takes the server of a create that was given up or has waited long for its answer.
        Otherwise the server of a create that was given up is deleted: a node keeps at most one server.
        """
        for actor in self._context.actors.values():
            name, listed_from = actor.provider.name, actor.view.listed_from
            if self._examined.get(name) == listed_from:
                continue  # the server of an attempt that was given up since is not in this list
            self._examined[name] = listed_from
            kept = self._kept.get(name, set())
            self._kept[name] = {
                server.id
                for mark, server in actor.view.by_mark().items()
                if server.id not in self._removals and (server.id in kept or self._is_kept(actor, mark, server, now))
            }

    def _is_kept(self, actor: ProviderActor, mark: str, server: Server, now: float) -> bool:
        """Take or delete the server if needed; return True if it belongs to a ready node: it needs no more checks."""
        node_id = node_of_mark(mark)
        ongoing = self._in_progress.get(node_id)
        launch = ongoing.launch if ongoing is not None else self._context.launch(node_id)
        if launch is None:
            return False
        if ongoing is not None and ongoing.actor is actor and self._is_wanted(ongoing, mark, server, now):
            self._take(ongoing, mark, server, now)
        elif mark in launch.superseded:
            self._remove(actor, server.id)
        return launch.phase == Phase.READY and mark == launch.mark

    def _is_wanted(self, ongoing: LaunchInProgress, mark: str, server: Server, now: float) -> bool:
        launch = ongoing.launch
        if server.status in ENDED or server.task_state == "deleting" or not ongoing.held.valid:
            return False
        if mark in launch.superseded:
            return not self._removals.is_stuck(server.id)  # one that was given up may be ACTIVE, but is of no use
        # Wait for the answer to the current create first: it is likely to come, and contains more.
        slow = now - launch.asked_at >= ongoing.actor.timeouts.suspect
        return mark == launch.mark and launch.phase == Phase.CREATING and slow

    def _take(self, ongoing: LaunchInProgress, mark: str, server: Server, now: float) -> None:
        launch = ongoing.launch
        given_up = mark in launch.superseded
        if not machine.found(launch, mark, server.id, now):
            if mark in launch.superseded:
                self._remove(ongoing.actor, server.id)
            return
        sent_at = ongoing.sent.get(mark)
        if given_up and sent_at is not None:
            # The server was in no list before, so the create has really taken this long.
            ongoing.actor.creates.answered(now - sent_at)
        ongoing.busy, ongoing.list_seen = False, 0.0
        line = f"node {ongoing.node.id}: server {server.id} appeared late and is used"
        self._context.account.say(Line(line, **ongoing.subject))
        self._started(ongoing, server.id, now)

    def _remove(self, actor: ProviderActor, server_id: str) -> None:
        self._removals.start(server_id, actor, server_id, None, self._context.inbox.nudge)
