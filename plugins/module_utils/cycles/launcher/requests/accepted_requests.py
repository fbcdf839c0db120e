# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of this cycle, which it accepts, fills, hands over, declines or cancels in Nodepool's order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ....clients.zookeeper.link.batch import Batch
from ....launching.actions import Admit, Decline
from ....launching.build_choice import SERVED
from ....launching.elsewhere import has_room_elsewhere, has_room_here, has_room_in_another_zone, zone_of
from ....launching.moving import Departures, may_move
from ....launching.snapshot import Snapshot
from ....model import reasons
from ....model.counters import REQUEST_READY
from ....model.errors import RecordClosed, StoreGone
from ....model.launch import Phase
from ....model.lines import Line, collapsed, word_for
from ....model.node import Node, NodeState
from ....model.owner import foremost
from ....model.reasons import Reason
from ....model.request import NodeRequest, RequestState
from ....model.subjects import subject_of_request
from ..context.context import Context
from ..context.events import follow_node
from ..launches.beginning import Wanted
from ..launches.launch_in_progress import LaunchInProgress
from ..launches.launches import Launches
from .accepting import AcceptedRequest, FormerNodes, accept, lock_node_of, lock_pending, reuse
from .waits import (
    departures_of,
    forget_wait,
    moves_of,
    store_end,
    store_reasons,
    store_taken_back,
)


class AcceptedRequests:
    """All requests that this cycle has accepted, by id."""

    def __init__(self, context: Context, launches: Launches) -> None:
        self._context = context
        self._launches = launches
        self._accepted: dict[str, AcceptedRequest] = {}
        self.tried: dict[str, frozenset[str]] = {}
        """Request → the pools and zones in which its launches have failed: others go first."""
        self._departures: dict[str, Departures] = {}
        self._former = FormerNodes(context, launches)

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._accepted

    def __len__(self) -> int:
        return len(self._accepted)

    @property
    def node_ids(self) -> set[str]:
        """Ids of the nodes whose locks are held for requests."""
        return set().union(*(accepted.node_ids for accepted in self._accepted.values()))

    # -- accepting -----------------------------------------------------------------------------------------------

    def admit(self, actions: Sequence[Admit]) -> None:
        """Lock the requests, set them pending, take their ready nodes and begin their launches.

        A request that has changed since the plan was made is left alone; the next plan decides about it again.
        """
        taken = accept(self._context.store, actions, self._context.now())
        accepted = [(action, request) for action, request in zip(actions, taken, strict=True) if request is not None]
        self._accepted.update((action.request_id, request) for action, request in accepted)
        complete: list[tuple[Admit, AcceptedRequest]] = []
        for action, request in accepted:
            if all(reuse(self._context, request, slot.node_id) for slot in action.slots if slot.node_id is not None):
                complete.append((action, request))
            else:
                self._put_back(request)
        launched = iter(self._launches.begin([wanted for pair in complete for wanted in self._wanted(*pair)]))
        for action, request in complete:
            nodes = [slot.node_id or next(launched) for slot in action.slots]
            request.node_ids = [node_id for node_id in nodes if node_id is not None]
            if None in nodes:
                self._put_back(request)
            else:
                self._say_accepted(action, request)

    def _wanted(self, action: Admit, accepted: AcceptedRequest) -> list[Wanted]:
        missing = [slot.label for slot in action.slots if slot.node_id is None]
        return [Wanted(action.pool_id, label, action.az, accepted.request, self._launch_ended) for label in missing]

    def _say_accepted(self, action: Admit, accepted: AcceptedRequest) -> None:
        forget_wait(self._context, action.request_id)
        where = self._where(action.pool_id) + (f" zone {action.az}" if action.az else "")
        self._say(f"request {action.request_id}: accepted in {where}, {_doings(accepted) or 'needs no node'}", accepted)

    # -- adopting ------------------------------------------------------------------------------------------------

    def adopt(self, request: NodeRequest, nodes: Iterable[Node], pool_id: str) -> bool:
        """Continue a pending request of an ended cycle; sort its nodes into the order of its labels."""
        accepted = lock_pending(self._context.store, request.id, pool_id)
        if accepted is None:
            return False
        self._accepted[request.id] = accepted
        left = sorted(nodes, key=lambda node: node.id)
        complete = True
        for label in accepted.request.node_types:
            node = next((node for node in left if label in node.type), None)
            if node is not None:
                left.remove(node)
            complete = node is not None and self._adopt_node(accepted, node) and complete
        for node in left:
            complete = self._adopt_node(accepted, node) and False
        if not complete:
            self._put_back(accepted)
        return complete

    def _adopt_node(self, accepted: AcceptedRequest, node: Node) -> bool:
        taken = lock_node_of(self._context.store, accepted.request.id, node.id)
        if taken is None:
            return False
        fresh, held = taken
        if fresh.state == NodeState.READY:
            accepted.held[node.id] = held
        elif fresh.state not in (NodeState.INIT, NodeState.BUILDING) or not self._launches.adopt(
            fresh, held, accepted.request, self._launch_ended
        ):
            held.release()
            return False
        accepted.node_ids.append(node.id)
        return True

    # -- finishing -----------------------------------------------------------------------------------------------

    def _launch_ended(self, ongoing: LaunchInProgress, batch: Batch) -> None:
        """Keep the lock of a ready node for its request, release that of a failed node; send *batch* in any case."""
        accepted = self._accepted.get(ongoing.launch.request_id or "")
        if accepted is not None and ongoing.launch.phase != Phase.FAILED:
            accepted.held[ongoing.node.id] = ongoing.held
            if accepted.complete and not accepted.failures:
                self._fulfill(accepted, batch)
            else:
                batch.commit()
            return
        ongoing.held.release(batch)
        batch.commit()
        if accepted is not None:
            accepted.failures.append(collapsed(ongoing.launch.failures))
            accepted.owners.append(ongoing.launch.owner)

    def step(self, all_pools: Collection[str]) -> None:
        """Hand over complete requests, decline failed ones, drop canceled ones.

        :param all_pools: ids of all pools; a request fails when all of them have declined it.
        """
        store = self._context.store
        known = store.requests.view().records
        self._former.keep(known)
        for request_id, accepted in list(self._accepted.items()):
            if request_id not in known and store.requests.read(request_id) is None:
                self._cancel(accepted)
            elif accepted.failures:
                where = self._where(accepted.pool_id)
                figures = {
                    "where": where,
                    "text": " | ".join(accepted.failures),
                    "owner": foremost(accepted.owners),
                    "nodes": len(accepted.failures),
                }
                reason = Reason(reasons.LAUNCH_FAILED, figures)
                self._release_nodes(accepted)
                self._decline(accepted, {accepted.pool_id: reason}, all_pools)
            elif accepted.complete:
                self._fulfill(accepted, store.batch())
            elif former := self._former.ready_for(accepted):
                self._take_former(accepted, former)

    def take_back(self, now: float) -> bool:
        """Reopen requests that are stuck, so that another pool or launcher may serve them.

        A request is reopened at once if it has no ready node and no create was sent, or if the configuration or the
        lack of an image forbids one of its launches; otherwise only if its provider is dead, a provider that has long
        been well can serve it, and it has not moved often.

        :return: True if there were any.
        """
        before = len(self._accepted)
        troubled = self._launches.in_progress.troubled(now)
        for accepted in [self._accepted[key] for key in sorted(troubled & self._accepted.keys())]:
            launching = [node_id for node_id in accepted.node_ids if node_id not in accepted.held]
            left_out = [node_id for node_id in launching if self._launches.is_left_out(node_id)]
            if left_out:
                self._give_back(accepted, left_out)
                continue
            if not launching or not all(self._launches.is_stuck(node_id, now) for node_id in launching):
                continue
            costs_nothing = not accepted.held and all(
                self._launches.in_progress[node_id].is_queued for node_id in launching
            )
            if costs_nothing or self._may_move(accepted, now):
                self._give_back(accepted, launching)
        return len(self._accepted) < before

    def hindrances(self, now: float) -> dict[str, Reason | None]:
        """Return each accepted request with the reason why one of its launches makes no progress; None without one."""
        found = {}
        for request_id, accepted in self._accepted.items():
            told = (
                self._launches.hindrance(node_id, now) for node_id in accepted.node_ids if node_id not in accepted.held
            )
            found[request_id] = next((reason for reason in told if reason is not None), None)
        return found

    def try_elsewhere(self, snapshot: Snapshot) -> None:
        """Give back requests with a launch that fails again and again, if another zone or pool has room for them.

        The whole set moves; its nodes that are ready, or come up well, stay ready for any request.

        :param snapshot: the snapshot of the latest plan.
        """
        known = self._context.store.requests.view().records if self.tried else {}
        self.tried = {request_id: tried for request_id, tried in self.tried.items() if request_id in known}
        for request_id, accepted in list(self._accepted.items()):
            tried = self.tried.get(request_id, frozenset())
            failing = [] if accepted.pool_id in tried else self._failing(accepted)
            if not failing:
                continue
            request, zone = accepted.request, self._launches.in_progress[failing[0]].launch.az
            besides = {accepted.pool_id, *tried, *request.declined_by}
            labels, tenant = request.node_types, request.tenant_name
            if has_room_elsewhere(snapshot, labels, request.provider, besides, tenant):
                place = accepted.pool_id
            elif zone and has_room_in_another_zone(snapshot, accepted.pool_id, zone, labels, tried, tenant):
                place = zone_of(accepted.pool_id, zone)
            else:
                continue
            self.tried[request_id] = tried | {place}
            launching = [node_id for node_id in accepted.node_ids if node_id not in accepted.held]
            unmade = [node_id for node_id in launching if self._launches.in_progress[node_id].is_queued]
            self._give_back(accepted, list(dict.fromkeys([*failing, *unmade])))

    def give_others(self, found: Mapping[LaunchInProgress, bool], snapshot: Snapshot) -> bool:
        """Reopen the requests of launches that are late or may be, where there is room for other nodes.

        These launches go on for nobody, so that their end shows whether their build is at fault; the request gets their
        nodes if they are ready first.

        :param found: launch → True if it is late.
        :param snapshot: the snapshot of the latest plan.
        :return: True if there were any.
        """
        wanted: dict[str, list[str]] = {}
        late = {one.launch.request_id for one, is_late in found.items() if is_late}
        for request_id in dict.fromkeys(one.launch.request_id for one in found):
            accepted = self._accepted.get(request_id or "")
            if accepted is None:
                continue
            request, pool_id = accepted.request, accepted.pool_id
            labels = [*wanted.get(pool_id, ()), *request.node_types]
            if not has_room_here(snapshot, pool_id, labels, request.tenant_name):
                continue
            wanted[pool_id] = labels
            launching = [node_id for node_id in accepted.node_ids if node_id not in accepted.held]
            build = self._launches.in_progress[launching[0]].build_id
            why = f"servers of build {build} do not answer yet, while later ones of the build before are ready"
            if request_id not in late:
                why = (
                    f"build {build} has not worked here yet, and nodes begun later would not be ready in {SERVED:.0f} s"
                )
            self._say(f"request {request.id}: gets other nodes, because {why}", accepted)
            self._former.note(accepted)
            for node_id in launching:
                self._launches.abandon(node_id)
                # The plan of this pass must not take them for nodes of the request's event.
                follow_node(self._context, self._launches.in_progress[node_id].node, None)
            self._put_back(accepted)
        return bool(wanted)

    def _take_former(self, accepted: AcceptedRequest, former: list[str]) -> None:
        """Fulfill a request with the nodes that it had before it got other ones; the launches of these end."""
        self._former.forget(accepted.request.id)
        for node_id in [node_id for node_id in accepted.node_ids if node_id in self._launches.in_progress]:
            self._launches.withdraw(node_id)
            accepted.node_ids.remove(node_id)
        self._release_nodes(accepted)
        accepted.node_ids.clear()
        if all(reuse(self._context, accepted, node_id) for node_id in former):
            self._fulfill(accepted, self._context.store.batch())
        else:
            self._put_back(accepted)

    def _failing(self, accepted: AcceptedRequest) -> list[str]:
        return [node_id for node_id in accepted.node_ids if self._launches.wants_another_place(node_id)]

    def _give_back(self, accepted: AcceptedRequest, unwanted: list[str]) -> None:
        """Reopen the request; withdraw its *unwanted* launches, and finish the others for any request."""
        leaving = [self._launches.in_progress[node_id] for node_id in unwanted]
        thrown = sum((not one.is_queued) + one.launch.thrown for one in leaving)
        attempts = sum(one.launch.attempt for one in leaving)
        for node_id in unwanted:
            self._launches.withdraw(node_id)
            accepted.node_ids.remove(node_id)
        where = self._where(accepted.pool_id)
        self._say(f"request {accepted.request.id}: taken back from {where}", accepted)
        store_taken_back(self._context, accepted.request.id, where, thrown, attempts)
        self._put_back(accepted)

    def _may_move(self, accepted: AcceptedRequest, now: float) -> bool:
        """Return True if another provider has long been well and can serve the request, which has not moved often."""
        wanted = set(accepted.request.node_types)
        provider, _pool = self._context.pool_names(accepted.pool_id)
        for (name, pool), pool_id in self._context.pool_ids.items():
            actor = self._context.actors[name]
            able = wanted <= set(actor.provider.pools[pool].labels) and actor.health.is_long_well(now)
            if able and name != provider and pool_id not in accepted.request.declined_by:
                moves = moves_of(self._context, accepted.request.id)
                return may_move(moves, now) and self._departures_of(provider).allow(now)
        return False

    def _departures_of(self, provider: str) -> Departures:
        """Return who left a provider lately; those of earlier cycles are known by the records of the requests."""
        if provider not in self._departures:
            self._departures[provider] = Departures(departures_of(self._context, provider))
        return self._departures[provider]

    def _fulfill(self, accepted: AcceptedRequest, before: Batch) -> None:
        """Hand over the nodes.

        The order is part of the protocol: nodes are ready and unlocked before the request becomes fulfilled.

        :param before: the writes that must happen before.
        """
        request = accepted.request
        request.nodes = list(accepted.node_ids)
        request.set_state(RequestState.FULFILLED, self._context.now())
        batch = before.copy()
        for held in accepted.held.values():
            held.release(batch)
        self._context.store.requests.write(request, batch=batch)
        accepted.lock.release(batch)
        if batch.send().refused() is not None:
            # Most likely, the request was deleted at the same time.
            before.commit()
            for held in accepted.held.values():
                held.release()
            if not self._write(accepted):
                self._leave(accepted)
                return
        self._leave(accepted)
        self._context.account.fulfilled.append(request.id)
        self._count(accepted)
        nodes = f"{word_for(len(request.nodes), 'node')} {', '.join(request.nodes)}"
        given = f"with {nodes}" if request.nodes else "without nodes: it requests none"
        self._say(f"request {request.id}: fulfilled {given}", accepted)

    def _count(self, accepted: AcceptedRequest) -> None:
        """Count how long the request has waited, if its requestor stored the time of its creation."""
        created = accepted.request.created_time
        where = next((place for place, known in self._context.pool_ids.items() if known == accepted.pool_id), None)
        if created is not None and where is not None:
            seconds = self._context.now() - created
            self._context.account.cycle_counts.counters.observe(REQUEST_READY, *where, seconds=seconds)

    def _cancel(self, accepted: AcceptedRequest) -> None:
        self._release_nodes(accepted)
        self._leave(accepted)
        self._context.account.canceled.append(accepted.request.id)
        self._say(f"request {accepted.request.id}: cancelled by its requestor", accepted)

    # -- declining -----------------------------------------------------------------------------------------------

    def decline(self, action: Decline, all_pools: Collection[str]) -> bool:
        """Decline a request that is not accepted, for all pools that can never serve it."""
        store = self._context.store
        lock = store.requests.lock(action.request_id)
        if lock is None:
            return False
        request = store.requests.read(action.request_id)
        if request is None or request.state != RequestState.REQUESTED:
            lock.release()
            return False
        accepted = AcceptedRequest(request, lock, next(iter(action.reasons), ""))
        self._decline(accepted, dict(action.reasons), all_pools, fail=action.fail)
        return True

    def _decline(
        self, accepted: AcceptedRequest, why: dict[str, Reason], all_pools: Collection[str], fail: bool = False
    ) -> None:
        request, account = accepted.request, self._context.account
        request.declined_by = [*request.declined_by, *(key for key in why if key not in request.declined_by)]
        request.nodes = []
        fail = fail or (bool(all_pools) and set(all_pools) <= set(request.declined_by))
        request.set_state(RequestState.FAILED if fail else RequestState.REQUESTED, self._context.now())
        documents = store_reasons(self._context, request.id, list(why.values()))
        store_end(self._context, request, RequestState.FAILED if fail else "declined", documents)
        self._write(accepted)
        self._leave(accepted)
        account.forget_wait(request.id)
        if fail:
            account.declined.pop(request.id, None)
            account.failed[request.id] = documents
        else:
            account.declined[request.id] = documents

    # -- inside --------------------------------------------------------------------------------------------------

    def drop_provider(self, provider: str) -> None:
        """Release the locks of the requests that a provider serves, as it moves to another host, which adopts them."""
        for request_id, accepted in list(self._accepted.items()):
            if self._context.pool_names(accepted.pool_id)[0] == provider:
                for held in accepted.held.values():
                    held.release()
                accepted.lock.release()
                del self._accepted[request_id]

    def drop(self) -> None:
        """Release all locks, as the session is lost or the cycle ends; the next cycle adopts the requests."""
        for accepted in self._accepted.values():
            for held in accepted.held.values():
                held.release()
            accepted.lock.release()
        self._accepted.clear()

    def _put_back(self, accepted: AcceptedRequest) -> None:
        """Set an accepted request back to state requested, and free its nodes."""
        self._release_nodes(accepted)
        accepted.request.nodes = []
        accepted.request.set_state(RequestState.REQUESTED, self._context.now())
        self._write(accepted)
        self._leave(accepted)

    def _release_nodes(self, accepted: AcceptedRequest) -> None:
        store = self._context.store
        for node_id in accepted.node_ids:
            if node_id in self._launches.in_progress:
                self._launches.orphan(node_id)
        for node_id, held in accepted.held.items():
            # The cache may lack the last write of another cycle, and the whole document is written: read it first.
            node = store.nodes.read(node_id)
            if node is not None and node.allocated_to == accepted.request.id:
                node.allocated_to = None
                store.nodes.write(node)
            held.release()
        accepted.held.clear()

    def _write(self, accepted: AcceptedRequest) -> bool:
        try:
            self._context.store.requests.write(accepted.request)
        except (StoreGone, RecordClosed):
            # The requestor has just deleted it, or lets nobody change it; the upkeep of allocations frees its nodes.
            self._context.account.canceled.append(accepted.request.id)
            return False
        return True

    def _leave(self, accepted: AcceptedRequest) -> None:
        accepted.lock.release()
        self._accepted.pop(accepted.request.id, None)

    def _where(self, pool_id: str) -> str:
        return "/".join(filter(None, self._context.pool_names(pool_id))) or pool_id

    def _say(self, text: str, accepted: AcceptedRequest) -> None:
        subject = subject_of_request(accepted.request)
        subject["provider"], subject["pool"] = self._context.pool_names(accepted.pool_id)
        subject["node"] = accepted.node_ids[0] if len(accepted.node_ids) == 1 else None
        self._context.account.say(Line(text, **subject))


def _doings(accepted: AcceptedRequest) -> str:
    """Return for example ``takes node 0000000007, launches node 0000000008``."""
    launching = [node_id for node_id in accepted.node_ids if node_id not in accepted.held]
    parts = (("takes", list(accepted.held)), ("launches", launching))
    return ", ".join(f"{verb} {word_for(len(ids), 'node')} {' '.join(ids)}" for verb, ids in parts if ids)
