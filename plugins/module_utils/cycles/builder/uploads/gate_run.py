# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the gate of one upload, from its image in the cloud to the decision whether it becomes ready.

The caller holds the upload's lock. Each step is stored before it is made, so that the next cycle goes on after a kill.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from ....clients.openstack.cloud_client import CloudClient
from ....imaging.gate_plan import Decide, Inconclusive, Launch, Overdue, Pause, inconclusive, next_step
from ....imaging.gating import is_tested
from ....launching.resolver import DEACTIVATED, upload_problem
from ....model.build_verdict import APPROVED, GATE, HAND, BuildVerdict
from ....model.build_verdict import REJECTED as REJECTED_BUILD
from ....model.config.gate_labels import gate_of
from ....model.config.gate_settings import GateSettings
from ....model.errors import CloudError, CloudImageBroken, NodepoolError
from ....model.gate import CANARY, PASSED, PROMOTED, REJECTED, GateRecord, GateResult
from ....model.image import Upload, build_of_path
from ....model.lines import Line, Subject, Trouble, span
from ..context.kept_contents import KeptContents
from .gate_nodes import GateNodes, Refused, TakenNode, Waiting
from .gate_playbook import edition, log_path, playbook_for, remove_log, remove_logs
from .presence import PROVEN
from .upload_claim import UploadClaim
from .upload_resources import UploadResources

NO_GATE = "the gate was removed from the configuration"
PACE = 0.5
"""Seconds between two looks."""


class GateRejected(NodepoolError):
    """The upload must not become ready."""


class GateLeft(NodepoolError):
    """The cycle ends before the gate has decided; the next one goes on."""


@dataclass
class Gate:
    """The gate of an upload whose image is complete in the cloud.

    :param claim: the upload's record and its lock.
    :param client: that of the upload's cloud.
    """

    claim: UploadClaim
    resources: UploadResources
    client: CloudClient
    _there_at: float = field(init=False, default=0.0)
    """When the image was surely in the cloud, as a node was launched from it."""

    @property
    def upload(self) -> Upload:
        """The upload that is tested."""
        return self.claim.upload

    def run(self) -> GateRecord:
        """Test the upload; return when it may become ready.

        :raises GateRejected: it must not be used.
        :raises GateLeft: the cycle ends.
        :raises CloudImageBroken: its image must be uploaded again.
        :raises RecordLost: another client has the upload's lock, or has changed its record.
        :raises StoreError: ZooKeeper could not be reached for too long.
        """
        record = self._begin()
        while not record.outcome:
            self._check()
            record = self._advance(record)
        if record.outcome == REJECTED:
            raise GateRejected(f"the gate rejects it: {record.note}")
        return record

    # -- the steps --------------------------------------------------------------------------------------------------

    def _begin(self) -> GateRecord:
        """Return the record of this upload; a former one of another upload is replaced."""
        store, upload = self.resources.store, self.upload
        known = store.gates.read(upload.provider, upload.image)
        if known is not None and known.is_of(upload):
            self._say(f"the gate goes on with upload {upload.id}")
            return known
        if known is not None:
            self._nodes().drop(known)
        builds = [build.id for build in store.images.builds(upload.image)]
        remove_logs(self.resources.config(), upload.image, builds)
        record = GateRecord(upload.build_id, upload.id, upload.external_id or "", self.resources.clock())
        self._save(record)
        self._say(f"upload {upload.id} waits for a canary")
        return record

    def _advance(self, record: GateRecord) -> GateRecord:
        config, now = self.resources.config(), self.resources.clock()
        if self.upload.provider not in config.providers:
            self._nodes().drop(record)
            self._save(replace(record, request="", token="", kind=""))
            raise GateLeft("its provider is no longer in the configuration")
        gate = gate_of(config, self.upload.image)
        if gate is None:
            return self._ended(record, PROMOTED, NO_GATE)
        tested_by = edition(gate, config) if record.of_round() else ""
        # Only what has failed is compared.
        can_compare = any(not one.passed for one in record.results) and bool(self._in_use())
        step = next_step(record, gate, self._verdict(), now, can_compare=can_compare, edition=tested_by)
        if isinstance(step, Launch):
            return self._test(record, step.kind, gate, now)
        if isinstance(step, Decide):
            return self._decided(record, step, now)
        if isinstance(step, Pause):
            self._rest(record)
            # A person may let the next round begin at once.
            there = self.resources.store.gates.get(self.upload.provider, self.upload.image)
            return there if there is not None and there.is_of(self.upload) else record
        return self._told(record, step, now)

    def _decided(self, record: GateRecord, step: Decide, now: float) -> GateRecord:
        """End the test, unless nothing can be made of the image any more: it may have changed since its last launch."""
        problem = self._image_problem() if step.outcome != REJECTED and not self._is_there(now) else ""
        if problem and step.outcome == PASSED:
            return self._told(record, inconclusive(record, f"{step.why}, but its image {problem}"), now)
        return self._ended(record, step.outcome, step.why)

    def _told(
        self, record: GateRecord, step: Inconclusive | Overdue, now: float, *, former: GateRecord | None = None
    ) -> GateRecord:
        """Note and tell that there is no decision yet."""
        if isinstance(step, Overdue):
            self._say(f"{step.why}: nodes come from the image in use, the test goes on", Trouble)
            return self._saved(replace(record, overdue=True))
        self._say(f"inconclusive, nothing is rejected, again in {span(step.seconds)}: {step.why}", Trouble)
        return self._saved(record.next_round(now + step.seconds, f"inconclusive: {step.why}"), former)

    def _test(self, record: GateRecord, kind: str, gate: GateSettings, now: float) -> GateRecord:
        """Get a node; when there is one, run the playbook on it."""
        nodes = self._nodes()
        record = nodes.asked(record, kind, first=now >= record.since + gate.reserve_after)
        found = nodes.taken(record)
        if found is None:
            # A request whose node is lost stays fulfilled for ever.
            self.resources.store.requests.delete(record.request)
            return self._saved(replace(record, request="", token="", kind=""))
        if isinstance(found, Waiting):
            note = f"waits for a node: {found.reason}" if found.reason else "waits for a node"
            record = self._saved(replace(record, note=note)) if note != record.note else record
            self._rest(record, unless=found.launching)
            return record
        if isinstance(found, Refused):
            self.resources.store.requests.delete(record.request)
            if not found.tried:
                return self._told(
                    record, inconclusive(record, f"no pool can launch a {kind} node: {found.reason}"), now
                )
            return self._noted(record, GateResult(kind, False, f"no node of it could be launched: {found.reason}"))
        self.resources.store.requests.delete(record.request)
        return self._play(record, kind, gate, found)

    def _play(self, record: GateRecord, kind: str, gate: GateSettings, taken: TakenNode) -> GateRecord:
        """Run the playbook on a node, and give it back."""
        node, config = taken.node, self.resources.config()
        if (kind == CANARY) != (node.image_id == self.upload.path):
            self._nodes().give_back(taken)
            why = f"node {node.id} was made from a different image than requested: its launcher does not know the gate"
            return self._told(record, inconclusive(record, why), self.resources.clock())
        log = log_path(config, self.upload, record.next_log)
        self._say(f"the gate's playbook runs on {kind} node {node.id}")
        held_for, why, tested_by = 0.0, "", edition(gate, config)
        try:
            playbook = playbook_for(node, kind, self.upload, gate, config, log, self.client.secrets)
            end = playbook.run(self._is_running)
            if kind == CANARY and not end.passed and not end.ours and not self.resources.interrupted.is_set():
                held_for, why = gate.hold_failed, end.reason
        finally:
            self._nodes().give_back(taken, hold=held_for, why=why)
        if kind == CANARY:
            self._there_at = min(node.created_time or 0.0, self.resources.clock())
        build = build_of_path(node.image_id)
        if build is not None:
            self._contents.keep(*build, end.output)
        if end.unkept:
            self._say(f"the log of the playbook cannot be kept: {end.unkept}", Trouble)
        self._leave_if_stopped()
        kept = log if not end.unkept and os.path.exists(log) else ""
        result = GateResult(kind, end.passed, end.reason, kept, node.id, self.resources.clock(), playbook=tested_by)
        if end.ours:
            return self._void(record, result, end.reason)
        if not end.passed and not self._had(taken):
            return self._saved(replace(record, request="", token="", kind=""))
        return self._noted(record, result)

    def _void(self, record: GateRecord, result: GateResult, why: str) -> GateRecord:
        """Note a run that says nothing about the build: its log shows people why."""
        without = record.with_void(result)
        return self._told(without, inconclusive(record, why), result.at, former=record)

    def _had(self, taken: TakenNode) -> bool:
        """Return True if the session that took the node still exists; else its launcher may have deleted it."""
        return taken.held.generation == self.resources.store.generation

    def _noted(self, record: GateRecord, result: GateResult) -> GateRecord:
        result = replace(result, at=self.resources.clock())
        if not result.passed:
            # No node can be made of an upload whose record or image somebody has deleted meanwhile.
            self.claim.keep()
            lack = self._lack_of_image() if result.kind == CANARY else ""
            if lack:
                return self._void(record, result, f"{lack}; the canary failed: {result.reason}")
        told = "passed" if result.passed else f"failed: {result.reason}"
        self._say(f"{result.kind} {told}", Line if result.passed else Trouble)
        return self._saved(record.with_result(result), record)

    def _is_there(self, now: float) -> bool:
        """Return True if the image was there lately: nova has launched a canary from it, or glance has listed it."""
        there_at, seen = self._there_at, self.resources.sighting(self.upload)
        if seen is not None and seen.asked_at > there_at:
            there_at = seen.asked_at if seen.usable else 0.0
        return now - there_at < PROVEN

    def _lack_of_image(self) -> str:
        """Return why what became of a canary says nothing about its image; "" if the image is as it was.

        :raises CloudImageBroken: it must be uploaded again.
        """
        try:
            problem = self._image_problem(sure=True)
        except CloudImageBroken:
            raise
        except CloudError as error:
            return f"it is unknown whether its image is still in the cloud: {error}"
        return f"its image {problem}" if problem else ""

    def _image_problem(self, *, sure: bool = False) -> str:
        """Ask glance about the image; return why no server is made of it now, "" if one can be.

        :param sure: raise the error of a call that fails; otherwise it proves nothing, and "" is returned.
        :raises CloudImageBroken: it must be uploaded again.
        :raises CloudError: glance does not say.
        """
        upload = self.upload
        try:
            image = self.client.images.get(upload.external_id or "")
        except CloudError:
            if sure:
                raise
            return ""
        problem = upload_problem(image) or ""
        if problem and (image is None or image.status != DEACTIVATED):
            raise CloudImageBroken(f"image {upload.external_id} {problem}", provider=upload.provider)
        return problem

    def _ended(self, record: GateRecord, outcome: str, why: str) -> GateRecord:
        self._nodes().drop(record)
        changed = self._changes()
        ended = record.ended(outcome, f"{why}; {changed}" if changed else why)
        told = {PASSED: "passed", REJECTED: "rejected", PROMOTED: "ready without a test"}[outcome]
        self._say(f"build {record.build} {told}: {ended.note}", Line if outcome == PASSED else Trouble)
        self._tell_build(ended)
        return self._saved(ended)

    # -- what is around ---------------------------------------------------------------------------------------------

    def _tell_build(self, record: GateRecord) -> None:
        """Store the verdict on the build, unless a person has decided. One in use elsewhere is rejected here only.

        What a person has announced for later stays, too, unless the build is rejected now.
        """
        provider, now = self.upload.provider, self.resources.clock()
        rejected, tested = record.outcome == REJECTED, self._is_tested()

        def given(known: BuildVerdict) -> BuildVerdict:
            if known.by == HAND and known.state and (known.applies(now) or not rejected):
                return known
            if rejected and tested:
                return known.without(provider, record.note, now)
            return known.given(REJECTED_BUILD if rejected else APPROVED, record.note, GATE, now)

        self.resources.store.verdicts.change(self.upload.image, self.upload.build_id, given)

    def _is_tested(self) -> bool:
        view = self.resources.view((self.upload.build_id, self.upload.provider))
        return is_tested(view, view.image(self.upload.image), self.upload.build_id)

    def _verdict(self) -> BuildVerdict:
        return self.resources.store.verdicts.of_build(self.upload.image, self.upload.build_id)

    def _changes(self) -> str:
        """Return how the build differs from the one in use, as far as that is known."""
        return self._contents.changes(self.upload.image, self._in_use(), self.upload.build_id)

    @property
    def _contents(self) -> KeptContents:
        return KeptContents(self.resources.images_dir.path)

    def _in_use(self) -> str:
        """Return the id of the build from which nodes are made at the provider now; "" for none."""
        store, image, provider = self.resources.store, self.upload.image, self.upload.provider
        now, verdicts = self.resources.clock(), store.verdicts.of_image(image)
        unused = {build for build, verdict in verdicts.items() if not verdict.is_used(now, provider)}
        found = store.images.newest_ready(image, provider, unused=unused)
        return found.build_id if found is not None else ""

    def _nodes(self) -> GateNodes:
        return GateNodes(self.resources.store, self.upload, self._save, self.resources.clock)

    def _saved(self, record: GateRecord, former: GateRecord | None = None) -> GateRecord:
        """Store the record; the logs that only the *former* one named are removed."""
        self._save(record)
        for log in former.logs() - record.logs() if former is not None else ():
            remove_log(log)
        return record

    def _save(self, record: GateRecord) -> None:
        self.resources.store.gates.save(self.upload.provider, self.upload.image, record)

    def _is_running(self) -> bool:
        return not self.resources.interrupted.is_set()

    def _check(self) -> None:
        """Keep the upload's lock and record; leave when the cycle was stopped."""
        self._leave_if_stopped()
        self.claim.keep()

    def _leave_if_stopped(self) -> None:
        if self.resources.interrupted.is_set():
            raise GateLeft("the cycle was stopped; the next one goes on with the gate")

    def _rest(self, record: GateRecord, *, unless: bool = False) -> None:
        """Wait a moment; leave when the cycle is to end.

        :param unless: a node is being launched, which is worth waiting for.
        """
        if self.resources.ending.is_set() and not unless:
            raise GateLeft(f"the cycle ends; the next one goes on with the gate, which {record.note or 'has begun'}")
        self.resources.sleeper(PACE)

    def _say(self, text: str, kind: type[Line] = Line) -> None:
        upload = self.upload
        about = Subject(provider=upload.provider, image=upload.image, build=upload.build_id, upload=upload.id)
        self.resources.say(kind(f"provider {upload.provider}: image {upload.image}: {text}", **about))
