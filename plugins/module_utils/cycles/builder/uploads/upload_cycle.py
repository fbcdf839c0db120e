# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The uploads cycle: uploads ready builds and deletes images that are not needed any more.

It runs until the deadline or until there is nothing more to do. One thread decides; uploads and deletions of cloud
images run in separate threads of each provider.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....clients.statsd import Sink
from ....clients.zookeeper.link import paths
from ....imaging.due_uploads import UploadCase, UploadCode
from ....imaging.notes import Failures, upload_notes_path
from ....imaging.retention import (
    DeleteFiles,
    DeleteUpload,
    Deletion,
    DeletionCode,
    MarkBuild,
)
from ....model.errors import StoreError
from ....model.image import Upload
from ....model.lines import Line, Subject, Trouble, amount
from ....model.own_tree import SITE, UPLOAD_NOTES
from ...frame.clock import SteadyClock
from ...frame.config_warnings import config_warnings
from ...frame.config_watch import ConfigWatch
from ...frame.counts import CycleCounts, KeptCounters
from ...frame.cycle_options import SETTLED
from ...frame.heartbeat import Heartbeat, nothing_unsent
from ...frame.inbox import Inbox
from ...frame.loop import Frame, Work
from ...frame.opening import opened
from ...frame.stop import SERVING, Stop
from ...frame.tree_clock import TreeClock
from ...frame.tree_identity import (
    check_tree,
    confirm_tree,
    site_of,
)
from ..builds.build import full_name
from ..builds.builder_metrics import IDLE, PAUSED, UPLOADING, count_upload, send_upload_states, with_gone
from ..context.builder_identity import Identity
from ..context.builder_options import UploadOptions
from ..context.image_files import check_files
from ..context.observe_images import (
    note_absences,
    note_builder,
    register_builder,
)
from .deletion import (
    DeletionResult,
    delete_build,
    delete_upload,
    mark_build,
)
from .presence import Presence
from .resume_upload import ResumedUpload
from .upload import (
    Ended,
    UploadJob,
    UploadResult,
    UploadRun,
)
from .upload_context import UploadContext
from .upload_report import (
    SETTLED_CASES,
    UploadsAccount,
    case_row,
    problems_of,
)
from .upload_resources import UploadResources
from .upload_workers import DELETION, TEST, UPLOAD, UploadWorkers

LONGEST_WAIT = 10.0
"""Largest number of seconds between two passes without events."""
GATHER = 0.1
"""Seconds. One pass handles all events within this time."""
UPLOAD_GRACE = 60.0
"""Seconds beyond the session time-out for which an upload waits for ZooKeeper to come back."""
LEAVE = 20.0
"""Seconds that uploads get to clean up when the cycle is stopped."""
TELL_EVERY = 60.0
"""Seconds between two metrics of the upload states."""
LEFT_PAUSE = 5.0
"""Seconds after which an upload is tried again that failed because of ZooKeeper."""
WATCHED = (paths.IMAGES, paths.own(UPLOAD_NOTES), paths.own(SITE))


def run_uploads(
    options: UploadOptions,
    *,
    progress: Callable[[str], None] = lambda line: None,
    stop: Stop | None = None,
    clock: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Run one cycle and return the module's result.

    :param progress: takes lines for the operator; called by several threads.
    :param stop: may ask the cycle to end early.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    with opened(options, progress) as begun:
        context = UploadContext(begun.options, begun.config, begun.store)
        check_files(context.images_dir, begun.store, site_of(begun.store, create=True), write=True)
        context.check_choice()
        sink = begun.sink if begun.sink.wanted else None
        ticks = clock or SteadyClock()
        return UploadsCycle(
            context, begun.watch, stop or Stop(), progress, ticks, sink, lambda: begun.sink.problem
        ).run()


class UploadsCycle(Work):
    """One run of the uploads cycle. Only calls of clouds are made outside of the thread that calls :meth:`run`."""

    def __init__(
        self,
        context: UploadContext,
        watch: ConfigWatch,
        stop: Stop,
        say: Callable[[str], None],
        clock: Callable[[], float],
        sink: Sink | None,
        unsent: Callable[[], str | None] = nothing_unsent,
    ) -> None:
        self._context = context
        self._watch = watch
        self._stop = stop
        self._say = say
        self._cycle_counts = CycleCounts(sink)
        self._counters = KeptCounters(context.store, "uploads", self._cycle_counts, say)
        self._heartbeat = Heartbeat(context.store, "uploads", TreeClock().hear, unsent)
        self._inbox = Inbox(clock)
        self._workers = UploadWorkers(self._inbox, {UPLOAD: context.options.side_by_side, DELETION: 1})
        self._presence = Presence(self._workers, context.client, clock, say)
        self._account = UploadsAccount()
        self._resources = UploadResources(
            store=context.store,
            images_dir=context.images_dir,
            site=site_of(context.store, create=True),
            view=lambda key: context.view(clock(), self._workers.keys - {key}),
            config=lambda: context.config,
            waits=lambda key: self._workers.become(key, TEST),
            sighting=self._presence.sighting,
            say=say,
            store_patience=context.config.zookeeper.timeout + UPLOAD_GRACE,
            hook_timeout=context.options.hook_timeout,
            clock=clock,
        )
        self._tries: dict[str, Failures] = {}
        """Failed deletions by the path of the upload or the name of the files."""
        self._not_before: dict[tuple[str, str], float] = {}
        self._cases: list[UploadCase] = []
        self._told: set[str] = set()
        self._tell_at = 0.0
        self._sent: set[tuple[str, str]] = set()
        self._identity = Identity(context.store, context.config, context.builder_id)
        self._hostname = full_name() if sink is not None else ""

    def run(self) -> dict[str, Any]:
        """Work until the end; interrupt the threads and remove the registration in any case."""
        began = self._inbox.clock()
        store = self._context.store
        store.on_change(self._changed)
        self._stop.tell(self._inbox.nudge)
        self._stop.describe = self._describe
        self._identity.begin()
        note_builder(store, self._context.config, self._context.builder_id, began)
        registration = register_builder(store)
        frame = Frame(self, store, self._context.config.zookeeper, self._stop, self._inbox.clock, self._say)
        try:
            ended = frame.run(began + self._context.options.duration)
        finally:
            self._resources.interrupted.set()
            self._counters.end(self._inbox.clock(), self._context.calls)
            self._heartbeat.end()
            self._identity.end()
            registration.unregister()
        return self._result(ended, self._inbox.clock() - began)

    def _describe(self) -> list[str]:
        """Return lines about the work in progress. Any thread may call it."""
        store = self._context.store
        work = ", ".join(f"{name} build {build}" for build, name in sorted(self._workers.keys))
        return [
            f"ZooKeeper: {store.state}, session {store.generation} of this cycle",
            f"inbox: {amount(self._inbox.waiting, 'call')} waiting",
            f"uploads and deletions: {work or 'none'} running; {amount(len(self._tries), 'deletion')} failed before",
        ]

    def _changed(self, path: str) -> None:
        if not path or path.startswith(WATCHED):
            self._inbox.nudge()

    # -- for the frame-----------------------------------------------------------------------------------------------

    @property
    def finishing(self) -> bool:
        """True while an upload, deletion or check is under way: it is finished after the deadline."""
        return bool(self._workers.keys)

    def turn(self, now: float, deadline: float) -> str | None:
        """Run one pass and wait for the next."""
        self._counters.step(now, self._context.calls)
        self._heartbeat.step(now, problems=self._watch.problems)
        quiet = self._pass(now, now < deadline)
        if quiet and self._context.options.until == SETTLED and not self._workers.keys:
            return SETTLED
        self._wait(now, self._sleep(now, deadline))
        return None

    def rest(self, seconds: float) -> None:
        """Wait; handle uploads that end meanwhile."""
        self._inbox.take(seconds)

    def leave(self) -> None:
        """End what is under way; the next cycle finds uploads that do not end in time."""
        self._resources.interrupted.set()
        self._context.abort_uploads()
        end = self._inbox.clock() + LEAVE
        while self._workers.keys and (left := end - self._inbox.clock()) > 0:
            self._stop.beat(SERVING)
            self._inbox.take(min(1.0, left))

    def abandon(self) -> None:
        """End what is under way as for a stop: each upload writes only if its own record exists."""
        self._counters.abandon()
        self.leave()

    def _pass(self, now: float, begin: bool) -> bool:
        """Begin the uploads and deletions that are due; return True if there was nothing to do.

        :param begin: False if the deadline is over: nothing new is begun.
        """
        self._look(now)
        if not begin:
            self._resources.ending.set()
            return True
        check_tree(self._context.store, self._resources.site)
        self._identity.check()
        self._context.lost = self._presence.lost
        view = self._context.view(now, self._workers.keys)
        note_absences(self._context.store, view)
        self._presence.step(view, self._context.options.concerns, now)
        self._cases = self._context.cases(view)
        for line in self._context.store.odd_documents():
            self._say(line)
        for name, problem in self._context.problems.items():
            if name not in self._told:
                self._told.add(name)
                self._say(Trouble(f"provider {name}: skipped: {problem}", provider=name))
        deletions = list(self._context.deletions(view))
        active = [self._delete(planned, now) for planned in deletions]
        active += [self._upload(case, now) for case in self._cases if case.due and not self._awaited(deletions, case)]
        self._tell_images(now)
        # An upload of another cycle is not settled either, also if that cycle may have died a short time ago.
        return (
            not any(active)
            and not self._presence.doubts
            and not any(case.code == UploadCode.UPLOADING for case in self._cases)
        )

    def _sleep(self, now: float, deadline: float) -> float:
        times = [case.at for case in self._cases if case.at is not None]
        times += [tries.not_before for tries in self._tries.values()]
        times += [*self._not_before.values(), *self._presence.times]
        soonest = min((at for at in times if at > now), default=now + LONGEST_WAIT)
        end = deadline if deadline > now else now + LONGEST_WAIT
        return max(0.0, min(LONGEST_WAIT, soonest - now, end - now))

    def _wait(self, began: float, seconds: float) -> None:
        """Wait for an event, then GATHER seconds more for further events."""
        end = began + max(seconds, GATHER)
        while (now := self._inbox.clock()) < end:
            # The files of the configuration are checked more often than a pass runs.
            if self._inbox.take(min(end - now, self._watch.due(now) + GATHER)):
                gathered = self._inbox.clock() + GATHER
                while self._stop.reason is None and (left := gathered - self._inbox.clock()) > 0:
                    self._inbox.take(left)
                return
            if self._look(self._inbox.clock()):
                return

    def _look(self, now: float) -> bool:
        """Apply a changed configuration; return True if there was one."""
        news = self._watch.poll(now)
        if news is None:
            return False
        self._context.reload(news.config)
        self._told.clear()
        if news.config is not None:
            self._identity.listing(news.config)
            note_builder(self._context.store, news.config, self._context.builder_id, now)
        return True

    # -- uploads ----------------------------------------------------------------------------------------------------

    def _upload(self, case: UploadCase, now: float) -> bool:
        """Begin an upload if there is room; return False if it cannot be made."""
        context = self._context
        client = context.client(case.provider)
        if client is None or case.build is None:
            return False
        key = (case.build.id, case.provider)
        if key in self._workers.keys or not self._workers.has_room(UPLOAD, case.provider):
            return True
        if now < self._not_before.get(key, 0.0):
            return True
        self._not_before.pop(key, None)
        job = context.job(case, case.build)
        self._workers.start(UPLOAD, key, UploadRun(job, client, self._resources).run, lambda got: self._take(job, got))
        self._tell_at = 0.0
        return True

    def _resume(self, upload: Upload, client: CloudClient, now: float) -> bool:
        """Go on with the gate of an abandoned upload; return False if there is none to go on with."""
        case = self._context.resumable(upload, self._cases)
        if case is None or case.build is None or upload.path in self._tries:
            return False
        job, key = self._context.job(case, case.build), (upload.build_id, upload.provider)
        if key in self._workers.keys or now < self._not_before.get(key, 0.0):
            return True
        run = ResumedUpload(upload, job, client, self._resources).run

        def take(outcome: UploadResult | Exception) -> None:
            if isinstance(outcome, Exception) or outcome.ended == Ended.SKIPPED:
                self._put_off(upload.path, "its gate cannot be continued")
            self._take(job, outcome)

        self._workers.start(TEST, key, run, take)
        return True

    def _tell_images(self, now: float) -> None:
        """Send the upload state of each image at each provider."""
        if self._hostname and now >= self._tell_at:
            self._tell_at = now + TELL_EVERY
            busy, states = self._workers.busy(UPLOAD), {}
            for case in self._cases:
                uploading = case.build is not None and (case.build.id, case.provider) in busy
                states[case.image, case.provider] = (
                    UPLOADING if uploading else PAUSED if case.code == UploadCode.PAUSED else IDLE
                )
            send_upload_states(self._cycle_counts.sink, self._hostname, with_gone(states, self._sent))

    def _awaited(self, deletions: list[Deletion], case: UploadCase) -> bool:
        """Return True while an upload of the same build, abandoned by a killed cycle, may still be adopted."""
        return any(
            planned.code == DeletionCode.ABANDONED
            and case.build is not None
            and (planned.upload.build_id, planned.upload.provider) == (case.build.id, case.provider)
            and planned.upload.path not in self._tries
            for planned in deletions
            if isinstance(planned, DeleteUpload)
        )

    def _take(self, job: UploadJob, outcome: UploadResult | Exception) -> None:
        """Handle the end of an upload."""
        self._tell_at = 0.0
        if isinstance(outcome, Exception):
            why = f"unexpected {type(outcome).__name__}: {outcome}"
            self._say(Trouble(f"{job.name}: upload failed: {why}", **job.subject))
            outcome = UploadResult(job.case, Ended.FAILED, why)
        self._account.upload(outcome)
        if outcome.ended in (Ended.LEFT, Ended.UNDECIDED):
            self._not_before[job.key] = self._inbox.clock() + LEFT_PAUSE
        if outcome.ended in (Ended.DONE, Ended.FAILED):
            ready = outcome.ended == Ended.DONE
            count_upload(self._cycle_counts, job.case.image, job.case.provider, ready=ready, seconds=outcome.seconds)
            self._context.forced.discard((job.case.image, job.case.provider))
            self._note(job, outcome)

    def _note(self, job: UploadJob, outcome: UploadResult) -> None:
        """Store a failure, or delete the former ones after a success."""
        own = self._context.store.own
        path = upload_notes_path(job.case.provider, job.case.image)
        before = Failures.from_document(own.get(path))
        with contextlib.suppress(StoreError):  # then the upload is tried again sooner
            if outcome.ended == Ended.FAILED:
                now = self._inbox.clock()
                after = before.again(outcome.why, now, random.random(), build=job.build.id)
                own.put(path, after.document())
            elif before.count:
                own.delete(path)

    # -- deletions --------------------------------------------------------------------------------------------------

    def _delete(self, planned: Deletion, now: float) -> bool:
        """Begin a deletion, or do it if it is quick; return True if something was done or will be."""
        if isinstance(planned, DeleteUpload):
            return self._delete_upload(planned, now)
        if isinstance(planned, MarkBuild):
            return mark_build(planned, self._resources)
        if isinstance(planned, DeleteFiles):
            return self._delete_files(planned, now)
        if not delete_build(planned, self._resources):
            return False
        line = f"image {planned.image}: build {planned.build_id} is gone: {planned.reason}"
        self._say(Line(line, image=planned.image, build=planned.build_id))
        row = {"image": planned.image, "build_id": planned.build_id, "code": planned.code, "reason": planned.reason}
        self._account.builds_deleted.append(row)
        return True

    def _delete_upload(self, planned: DeleteUpload, now: float) -> bool:
        upload = planned.upload
        key = (upload.build_id, upload.provider)
        if now < self._tries.get(upload.path, Failures()).not_before:
            return False
        client = self._context.client(upload.provider)
        if client is None:
            why = self._context.problems.get(upload.provider, "")
            self._account.deletion(DeletionResult(upload, planned.code, False, why), planned)
            return False
        if planned.code == DeletionCode.ABANDONED and self._resume(upload, client, now):
            return True
        if key in self._workers.keys or not self._workers.has_room(DELETION, upload.provider):
            return True
        self._workers.start(
            DELETION,
            key,
            lambda: delete_upload(planned, client, self._resources),
            lambda got: self._deleted(planned, got),
        )
        return True

    def _deleted(self, planned: DeleteUpload, outcome: DeletionResult | Exception) -> None:
        upload = planned.upload
        if isinstance(outcome, Exception):
            why = f"unexpected {type(outcome).__name__}: {outcome}"
            outcome = DeletionResult(upload, planned.code, False, why)
        self._account.deletion(outcome, planned)
        name = f"provider {upload.provider}: image {upload.image}: upload {upload.id} of build {upload.build_id}"
        about = Subject(provider=upload.provider, image=upload.image, build=upload.build_id, upload=upload.id)
        if outcome.adopted:
            self._say(Line(f"{name} is ready: {planned.reason}, but it is complete", **about))
            with contextlib.suppress(StoreError):  # former failures are obsolete
                self._context.store.own.delete(upload_notes_path(upload.provider, upload.image))
        elif outcome.done:
            self._tries.pop(upload.path, None)
            self._say(Line(f"{name} is deleted: {planned.reason}", **about))
        else:
            self._put_off(upload.path, outcome.why)
            if not outcome.skipped:
                self._say(Trouble(f"{name} cannot be deleted yet: {outcome.why}", **about))

    def _delete_files(self, planned: DeleteFiles, now: float) -> bool:
        name = f"files of build {planned.build_id}"
        if now < self._tries.get(name, Failures()).not_before:
            return False
        if planned.code == DeletionCode.LEFT_OVER:
            confirm_tree(self._context.store, self._resources.site)  # no record names the files
        problems = self._context.images_dir.remove(planned.names)
        left = {entry.name for entry in self._context.images_dir.entries()}
        self._account.files_removed += [file for file in planned.names if file not in left]
        if problems:
            self._put_off(name, problems[0])
            row = {"image": planned.image, "build_id": planned.build_id, "error": "; ".join(problems)}
            self._account.undeleted[name] = row
            return False
        line = f"image {planned.image}: {amount(len(planned.names), 'file')} removed: {planned.reason}"
        self._say(Line(line, image=planned.image, build=planned.build_id))
        self._account.undeleted.pop(name, None)
        return True

    def _put_off(self, name: str, why: str) -> None:
        self._tries[name] = self._tries.get(name, Failures()).again(why, self._inbox.clock(), random.random())

    # -- the end ------------------------------------------------------------------------------------------------------

    def _result(self, ended: str, seconds: float) -> dict[str, Any]:
        context = self._context
        waiting = [case_row(case) for case in self._cases if not case.due and case.code not in SETTLED_CASES]
        return {
            "changed": self._account.changed,
            "ended": ended,
            "seconds": round(seconds, 3),
            **self._account.result(),
            "waiting": waiting,
            "problems": problems_of(
                self._cases, self._account.undeleted.values(), context.problems, self._watch.problems
            ),
            "left_out": dict(context.problems),
            "config_problems": self._watch.problems,
            "api_calls": context.calls(),
            "warnings": config_warnings(context.config, context.store),
        }
