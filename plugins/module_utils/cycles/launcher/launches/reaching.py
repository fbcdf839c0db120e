# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that an active server can be reached, is a machine of its own, and passes the probe of its label or image.

It stores the server's addresses, collects its host keys with the scanner, and compares both with those of other nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ....clients.probing import ProbeJob, ProbeResult
from ....clients.ssh import ScanJob, Scanner, ScanResult
from ....clients.zookeeper.link.batch import Batch
from ....launching import machine, record
from ....launching.classifier import Verdict, of_fault, of_no_address
from ....launching.machine import Failure
from ....model import owner
from ....model.bounded_text import bounded
from ....model.config.known_secrets import known_secrets
from ....model.config.types import NodepoolConfig, Provider
from ....model.errors import CloudError
from ....model.launch import Phase, time_left
from ....model.lines import Line, span
from ....model.redaction import redacted
from ....model.subjects import subject_of_node
from ..context.context import Context
from .addressing import Addressing
from .launch_in_progress import LaunchesInProgress, LaunchInProgress, text_of
from .outcomes import Outcomes
from .proving import PATIENCE, Proving
from .silence import HALF

SCANNED_TYPES = ("ssh", "network_cli")
"""Connection types whose host keys are collected; a node of another type only has to accept a connection."""
CONSOLE_LINES = 30
SHOWN_LINES = 10
FRESH = 3.0
"""Seconds within which a list that shows the server as ACTIVE is believed."""
LONGEST_LOOK = 10.0
"""Seconds to wait for nova's answer about a server that does not answer; without one, it counts as ACTIVE."""


class Reaching:
    """The scans of a cycle's launches."""

    def __init__(
        self,
        context: Context,
        scanner: Scanner,
        addressing: Addressing,
        outcomes: Outcomes,
        in_progress: LaunchesInProgress,
    ) -> None:
        self._context = context
        self._scanner = scanner
        self._addressing = addressing
        self._outcomes = outcomes
        self._proving = Proving(context, in_progress)
        self._waiting: dict[str, tuple[LaunchInProgress, tuple[str, ...], float]] = {}
        """Launches whose servers wait for others to show the same host key; with that key and until when."""
        self._unanswered: dict[str, tuple[LaunchInProgress, float]] = {}
        """Launches whose servers do not answer yet; with when that is told."""
        self._looked_up: dict[str, tuple[LaunchInProgress, Callable[[float], None], float]] = {}
        """Launches whose servers do not answer while nova is asked about them; with what follows if they are ACTIVE,
        and since when."""
        self._known: dict[str, tuple[NodepoolConfig, Provider, tuple[str, ...]]] = {}
        """Provider → the secrets of the configuration, and for which one: they are sought in all user data."""

    def begin(self, ongoing: LaunchInProgress, batch: Batch) -> None:
        """Store the server's addresses together with *batch*, and begin to check whether it answers."""
        actor, node, launch = ongoing.actor, ongoing.node, ongoing.launch
        server = actor.view.servers.get(launch.server_id or "")
        if server is None:
            batch.send_later()
            return
        addresses = self._addressing.addresses(actor, server, actor.known.networks.want(self._context.now()) or [])
        record.active(node, actor.provider, server, addresses, launch.floating_address)
        if not node.interface_ip:
            batch.send_later()
            text, now = "the server has no usable address", self._context.now()
            if self._outcomes.is_ours(ongoing):
                verdict = of_no_address(self._outcomes.seen_by(ongoing, now))
                self._outcomes.fail(ongoing, Failure.UNREACHABLE, text, now, verdict)
            return
        if not ongoing.label.host_key_checking:
            self._reached(ongoing, ())
            return
        self._context.store.nodes.write(node, batch=batch)
        batch.send_later()
        ongoing.busy = True
        now, limit = self._context.now(), ongoing.boot_timeout
        left = time_left(limit, launch.guest_since, now)
        job = ScanJob(
            key=node.id,
            address=node.interface_ip,
            port=node.connection_port,
            deadline=limit,
            want_keys=node.connection_type in SCANNED_TYPES,
            left=left,
        )
        self._scanner.submit(job)
        self._unanswered[node.id] = (ongoing, now + max(HALF * limit - (limit - left), HALF * left))

    def answered(self, ongoing: LaunchInProgress, result: ScanResult) -> None:
        """Handle the scanner's answer."""
        self._unanswered.pop(ongoing.node.id, None)
        if ongoing.launch.phase != Phase.REACHING:
            return
        ongoing.busy = False
        if result.error is None:
            self._context.account.step(ongoing.node.id, "scanned", self._context.now())
            self._outcomes.reached(ongoing)
            self._reached(ongoing, result.host_keys)
        elif ongoing.label.console_log:
            self._fetch_console(ongoing, result.error)
        else:
            self._unreached(ongoing, result.error)

    def cancel(self, node_id: str) -> None:
        """Cancel the scan of a node."""
        self._scanner.cancel(node_id)
        self._scanner.cancel(_probe_key(node_id))
        self._waiting.pop(node_id, None)
        self._unanswered.pop(node_id, None)
        self._looked_up.pop(node_id, None)

    def step(self, now: float) -> None:
        """Look again at the servers that wait for a proof, and tell who does not answer; called once per pass."""
        for node_id, (ongoing, host_keys, _until) in list(self._waiting.items()):
            if self._outcomes.is_ours(ongoing):
                self._prove(ongoing, host_keys, now)
            else:
                del self._waiting[node_id]
        for ongoing, follow, since in list(self._looked_up.values()):
            self._judge(ongoing, follow, since, now)
        for node_id, (ongoing, at) in list(self._unanswered.items()):
            if now >= at:
                del self._unanswered[node_id]
                self._tell_silence(ongoing, now)

    def next_due(self, now: float) -> float:
        """Return the seconds until one of these waits ends, or a silent server is to be told."""
        due = [until for _ongoing, _keys, until in self._waiting.values()]
        due += [at for _ongoing, at in self._unanswered.values()]
        due += [since + LONGEST_LOOK for _ongoing, _follow, since in self._looked_up.values()]
        return min(due, default=float("inf")) - now

    def _tell_silence(self, ongoing: LaunchInProgress, now: float) -> None:
        node, half = ongoing.node, HALF * ongoing.boot_timeout
        address = node.interface_ip or ""
        place = f"[{address}]" if ":" in address else address
        view = ongoing.actor.view
        server, age = view.servers.get(ongoing.launch.server_id or ""), now - view.listed_from
        status = server.status if server is not None else "no longer listed"
        shown = f"is {status}" if age <= FRESH else f"was {status} {span(age)} ago"
        line = (
            f"node {node.id}: server {ongoing.launch.server_id} {shown}, but {place}:{node.connection_port} has not"
            f" answered for {half:g} s; this attempt ends after {ongoing.boot_timeout:g} s (boot-timeout)"
        )
        self._context.account.say(Line(line, **subject_of_node(node, ongoing.launch)))

    def _fetch_console(self, ongoing: LaunchInProgress, error: str) -> None:
        ongoing.busy = True
        client, server_id = ongoing.actor.client, ongoing.launch.server_id or ""

        def answered(lines: list[str] | None, trouble: CloudError | None) -> None:
            ongoing.busy = False
            if trouble is not None:
                told = f"; the console cannot be read: {trouble}"
            elif lines is None:
                told = "; nova has no console for the server"
            else:
                said = redacted(" | ".join(lines[-SHOWN_LINES:]), self._secrets(ongoing))
                told = f"; console: {said}" if lines else "; the console is empty"
            self._unreached(ongoing, bounded(error + told))

        lane = ongoing.actor.auxiliary
        if not lane.ask(
            "POST /servers/{id}/action", lambda: client.console_log(server_id, CONSOLE_LINES, lane.seconds), answered
        ):
            ongoing.busy = False
            self._unreached(ongoing, f"{error}; the console was not read: earlier console calls are still unanswered")

    def _reached(self, ongoing: LaunchInProgress, host_keys: tuple[str, ...]) -> None:
        now = self._context.now()
        if self._outcomes.is_ours(ongoing):
            self._prove(ongoing, host_keys, now)

    def _prove(self, ongoing: LaunchInProgress, host_keys: tuple[str, ...], now: float) -> None:
        node_id = ongoing.node.id
        until = self._waiting.pop(node_id, (None, None, now + PATIENCE))[2]
        refusal = self._proving.refusal(ongoing, host_keys)
        ongoing.busy = refusal is not None and refusal.soon and now < until
        if ongoing.busy:
            self._waiting[node_id] = (ongoing, host_keys, until)
        elif refusal is not None:
            self._outcomes.fail(ongoing, Failure.UNPROVED, refusal.text, now, Verdict(refusal.owner))
        else:
            ongoing.host_keys = host_keys
            self._proved(ongoing, now)

    def _proved(self, ongoing: LaunchInProgress, now: float) -> None:
        """Hand the node over, or begin its probe."""
        probe, node = self._context.config.probe(ongoing.label, ongoing.image), ongoing.node
        if probe is None:
            machine.reached(ongoing.launch, now)
            self._outcomes.finish(ongoing, now)
            return
        ongoing.busy = True
        machine.probing(ongoing.launch, now)
        self._context.save(ongoing.launch)
        job = ProbeJob(
            key=_probe_key(node.id),
            address=node.interface_ip or "",
            port=node.connection_port,
            username=node.username or "",
            probe=probe,
            host_keys=ongoing.host_keys,
            folder=os.path.dirname(os.path.abspath(self._context.config.path)),
            left=time_left(probe.timeout, ongoing.launch.answered_at, now),
            secrets=self._secrets(ongoing),
        )
        self._scanner.probe(job, lambda result: self._context.inbox.post(lambda: self._probed(ongoing, result)))

    def _secrets(self, ongoing: LaunchInProgress) -> tuple[str, ...]:
        """Return what is hidden in the texts that a server writes."""
        actor, config = ongoing.actor, self._context.config
        known = self._known.get(actor.provider.name)
        if known is None or known[0] is not config or known[1] is not actor.provider:
            known = (config, actor.provider, known_secrets(config, actor.provider))
            self._known[actor.provider.name] = known
        return (*actor.client.secrets, *known[2])

    def _probed(self, ongoing: LaunchInProgress, result: ProbeResult) -> None:
        now = self._context.now()
        if ongoing.launch.phase != Phase.PROBING or not self._outcomes.is_ours(ongoing):
            return
        ongoing.busy = False
        if result.error is None:
            self._context.account.step(ongoing.node.id, "probed", now)
            machine.reached(ongoing.launch, now)
            self._outcomes.finish(ongoing, now)
        else:
            text, verdict = result.error, Verdict(owner.US if result.ours else owner.IMAGE)

            def not_passed(at: float) -> None:
                self._outcomes.fail(ongoing, Failure.PROBE, text, at, verdict)

            if result.ours:
                not_passed(now)
            else:
                self._look_up(ongoing, not_passed, now)

    def _unreached(self, ongoing: LaunchInProgress, text: str) -> None:
        if self._outcomes.is_ours(ongoing):
            self._look_up(ongoing, lambda _at: self._outcomes.unreached(ongoing, text), self._context.now())

    def _look_up(self, ongoing: LaunchInProgress, follow: Callable[[float], None], now: float) -> None:
        """Do what follows from the silence of a server if the server is ACTIVE; else say what has become of it.

        A server that was stopped, broke or is gone says nothing about its image and its network.
        """
        ongoing.busy = True
        self._looked_up[ongoing.node.id] = (ongoing, follow, now)
        self._judge(ongoing, follow, now, now)

    def _judge(self, ongoing: LaunchInProgress, follow: Callable[[float], None], since: float, now: float) -> None:
        view, server_id = ongoing.actor.view, ongoing.launch.server_id or ""
        server = view.servers.get(server_id)
        is_active = server is not None and server.status == "ACTIVE" and view.listed_from >= since - FRESH
        told = None if is_active else view.inquiries.want(server_id, since, now)
        if told is None and not is_active and now < since + LONGEST_LOOK:
            return
        del self._looked_up[ongoing.node.id]
        if not self._outcomes.is_ours(ongoing):
            return
        ongoing.busy = False
        if told is None or (told.server is not None and told.server.status == "ACTIVE"):
            follow(now)
            return
        server = told.server
        fault, code = (server.fault or "", server.fault_code) if server is not None else ("", None)
        verdict = of_fault(fault, code, self._outcomes.seen_by(ongoing, now))
        text = f"{text_of(server, Failure.FAULT)}; it was ACTIVE before"
        self._outcomes.fail(ongoing, Failure.FAULT, text, now, verdict)


def _probe_key(node_id: str) -> str:
    return f"probe {node_id}"
