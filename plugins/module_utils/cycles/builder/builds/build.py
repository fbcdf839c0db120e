# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One build with its record: from the lock to the result, with the notes about failures."""

from __future__ import annotations

import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....imaging.due_builds import BuildCase
from ....imaging.notes import (
    LONGEST_CHANGES,
    BuildNotes,
    Failures,
    build_notes_path,
)
from ....model.bounded_text import bounded
from ....model.build_verdict import NONE
from ....model.config.types import NodepoolConfig
from ....model.errors import (
    ConfigError,
    ImageFileError,
    StoreError,
    StoreGone,
)
from ....model.image import Build, BuildState, UploadState, age_order
from ....model.lines import Line, Trouble
from ...frame.stop import SERVING, Stop
from ..context.kept_contents import KeptContents
from .build_guard import LOST, BuildGuard
from .image_builder import FAILED, BuildOutput, ImageBuilder, Job

STORE_GRACE = 30.0
"""Seconds beyond the session time-out for which a finished build waits for ZooKeeper to come back."""
READY = "ready"
STOPPED = "stopped"
NAME_SECONDS = 3.0
_PACE = 0.5


def full_name(look_up: Callable[[], str] = socket.getfqdn) -> str:
    """Return the name of this host as Nodepool writes it; the short name if the resolver does not answer in time."""
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(look_up()), name="host name", daemon=True)
    thread.start()
    thread.join(NAME_SECONDS)
    return found[0] if found else socket.gethostname()


@dataclass(kw_only=True)
class Report(BuildOutput):
    """The result of a build, for the module's result.

    *state*: ``ready``, ``failed``, ``stopped`` (the cycle was told to end) or ``lost`` (another client took its record
    or lock).
    """

    image: str
    build_id: str
    state: str
    reason: str
    log: str = ""
    formats: tuple[str, ...] = ()

    @classmethod
    def of(cls, job: Job, reason: str, made: BuildOutput, stop: Stop) -> Report:
        """Return the report of a build that was begun, and that *stop* may have ended."""
        state = READY if made.ok else STOPPED if made.cause == stop.reason else LOST if made.cause == LOST else FAILED
        return cls(
            image=job.image.name,
            build_id=job.build_id,
            state=state,
            reason=reason,
            log=job.log,
            formats=job.formats if made.ok else (),
            **vars(made),
        )

    def result(self) -> dict[str, Any]:
        """Return the report as the module returns it."""
        return {
            "image": self.image,
            "build_id": self.build_id,
            "state": self.state,
            "reason": self.reason,
            "log": self.log,
            "error": self.error,
            "formats": list(self.formats),
            "sizes": dict(self.sizes),
            "seconds": round(self.seconds, 3),
            "exit_code": self.code,
        }


@dataclass
class BuildContext:
    """The objects that the builds of a cycle share.

    *pause*: waits at most the given seconds. *clock*: UNIX time. *chance*: returns a number of 0…1.
    """

    store: Store
    builder_id: str
    image_builder: ImageBuilder
    stop: Stop
    say: Callable[[str], None] = lambda line: None
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    nonce: Callable[[], str] = lambda: uuid.uuid4().hex
    hostname: str = field(default_factory=full_name)
    building: set[str] = field(default_factory=set)
    """Ids of the builds that this cycle is making."""

    def build(self, config: NodepoolConfig, case: BuildCase, held: Held, *, convert_vhd: bool) -> Report:
        """Build an image whose lock the caller holds, and release the lock.

        :raises StoreError: ZooKeeper could not be reached for too long: the state of the record is unknown.
        """
        try:
            return _Build(self, config, case, held, convert_vhd).run()
        finally:
            held.release()


class _Build:
    """One build."""

    def __init__(
        self, context: BuildContext, config: NodepoolConfig, case: BuildCase, held: Held, convert_vhd: bool
    ) -> None:
        self._context = context
        self._case = case
        self._held = held
        self._timeout = config.zookeeper.timeout
        self._notes_path = build_notes_path(case.image)
        self._notes = BuildNotes.from_document(context.store.own.get(self._notes_path))
        self._job = Job.of(
            config, case.image, case.formats, context.nonce(), convert_vhd=convert_vhd, notes=self._notes
        )

    def run(self) -> Report:
        context, job = self._context, self._job
        try:
            context.image_builder.prepare(job)
        except (ConfigError, ImageFileError) as problem:
            return self._failed_before(str(problem))
        build = Build(id=job.build_id, image=job.image.name, builder=context.hostname, builder_id=context.builder_id)
        build.formats = list(job.formats)
        build.set_state(BuildState.BUILDING, context.clock())
        context.building.add(build.id)
        try:
            context.store.images.create_build(build, held=self._held)
            guard = BuildGuard(context.store, build, self._held, timeout=self._timeout, clock=context.monotonic)
            self._say(f"building {job.build_id} ({', '.join(job.formats)}): {self._case.reason}")
            context.image_builder.watch = lambda: context.stop.reason or guard.check()
            try:
                return self._finish(guard, context.image_builder.make(job))
            finally:
                context.image_builder.watch = lambda: context.stop.reason
                guard.release()
        finally:
            context.building.discard(build.id)

    def _failed_before(self, error: str) -> Report:
        """Report a build that failed before it was begun and has no record."""
        self._remember_failure(error, "")
        image = self._job.image.name
        self._context.say(Trouble(f"{image}: cannot be built: {error}", image=image))
        return Report(image=image, build_id="", state=FAILED, reason=self._case.reason, error=error)

    def _finish(self, guard: BuildGuard, made: BuildOutput) -> Report:
        """Store the result of the build as soon as ZooKeeper can be written."""
        context, job, build = self._context, self._job, guard.build
        report = Report.of(job, self._case.reason, made, context.stop)
        if report.state == LOST:
            report.error = guard.problem
        if made.reaped is not None and made.reaped.anything:
            self._say(f"removed what the build had left: {made.reaped.text()}")
        if report.state != LOST:
            self._fill_in(build, report)
            try:
                self._write(guard, report)
            except StoreGone as problem:
                report.state, report.error = LOST, str(problem)
        if report.state != READY:
            context.image_builder.discard(job)
        self._say_end(report)
        return report

    def _fill_in(self, build: Build, report: Report) -> None:
        image = self._job.image
        if report.state == READY:
            build.formats = list(report.formats)
            build.username, build.python_path, build.shell_type = image.username, image.python_path, image.shell_type
            build.set_state(BuildState.READY, self._context.clock())
        else:
            build.formats = []
            build.set_state(BuildState.FAILED, self._context.clock())

    def _write(self, guard: BuildGuard, report: Report) -> None:
        """Write the record, then the notes, then drop the request.

        :raises StoreGone: the build is not ours any more.
        :raises StoreError: ZooKeeper could not be written for too long; the files are removed, as no record owns them.
        """
        context = self._context
        began = context.monotonic()
        while not guard.write():
            grace = 0.0 if context.stop.reason else STORE_GRACE
            if context.monotonic() - began >= self._timeout + grace:
                context.image_builder.discard(self._job)
                raise StoreError(
                    f"build {report.build_id} of {report.image} ended ({report.state}), but its record could"
                    f" not be written to ZooKeeper for too long: its files are removed, and the image is built again"
                )
            context.stop.beat(SERVING)
            context.pause(_PACE)
        try:
            if report.state == READY:
                changes = self._changes(report.build_id)
                notes = BuildNotes(Failures(), report.sizes, report.seconds, report.build_id, changes)
                context.store.own.put(self._notes_path, notes.document())
                requested = context.store.images.requested(report.image)
                if requested is not None and requested < guard.build.born:  # this build does not serve a later request
                    context.store.images.drop_request(report.image)
            elif report.state == FAILED:
                self._remember_failure(report.error, report.build_id)
        except StoreError as problem:  # the record is stored; the request that it served is dropped later
            context.say(Trouble(f"{report.image}: {problem}", image=report.image, build=report.build_id))

    def _changes(self, build_id: str) -> str:
        """Return, and tell, what differs from the newest build in use, as far as this builder has both; "" if not."""
        store, image = self._context.store, self._job.image.name
        used, verdicts = set[str](), store.verdicts.of_image(image)
        for upload in store.images.uploads(image):
            verdict = verdicts.get(upload.build_id, NONE)
            if upload.state == UploadState.READY and verdict.is_used(self._context.clock(), upload.provider):
                used.add(upload.build_id)
        builds = [build for build in store.images.builds(image) if build.id in used]
        before = max(builds, key=age_order).id if builds else ""
        told = bounded(KeptContents(self._job.images_dir).changes(image, before, build_id), LONGEST_CHANGES)
        if told:
            self._say(f"build {build_id}: {told}")
        return told

    def _remember_failure(self, error: str, build_id: str) -> None:
        context = self._context
        failures = self._notes.failures.again(
            error, context.clock(), context.chance(), request=self._case.requested, build=build_id
        )
        context.store.own.put(self._notes_path, replace(self._notes, failures=failures).document())

    def _say_end(self, report: Report) -> None:
        good = report.state == READY
        text = f"ready after {report.seconds:.0f} s" if good else f"{report.state}: {report.error}"
        self._say(f"build {report.build_id} {text}", Trouble if report.state == FAILED else Line)

    def _say(self, text: str, kind: type[Line] = Line) -> None:
        image, build = self._job.image.name, self._job.build_id
        self._context.say(kind(f"{image}: {text}", image=image, build=build))
