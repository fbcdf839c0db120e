# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builds cycle: removes the remains of killed builds, builds due images one after the other, waits for more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.diskimage_builder.isolation import (
    Isolation,
    find_isolation,
)
from ....clients.diskimage_builder.scratch import (
    claimed,
    leftovers,
)
from ....clients.zookeeper.components import Registration
from ....clients.zookeeper.link import paths
from ....imaging.due_builds import (
    BuildCase,
    BuildCode,
    due_builds,
    judge_build,
    served_request,
)
from ....imaging.image_snapshot import ImagesView
from ....model.image import BuildState
from ....model.lines import Trouble, amount, of_provider
from ....model.own_tree import SITE
from ...frame.clock import SteadyClock
from ...frame.config_warnings import config_warnings
from ...frame.counts import CycleCounts, KeptCounters
from ...frame.cycle_options import SETTLED
from ...frame.heartbeat import Heartbeat
from ...frame.inbox import Inbox
from ...frame.loop import Frame, Work
from ...frame.opening import Opened, opened
from ...frame.stop import SERVING, Stop
from ...frame.tree_clock import TreeClock
from ...frame.tree_identity import check_tree, confirm_tree, site_of
from ..context.builder_identity import Identity
from ..context.builder_options import BuildOptions
from ..context.image_files import check_files
from ..context.observe_images import (
    local_files,
    note_absences,
    note_builder,
    provider_formats,
    register_builder,
    view_images,
)
from .build import READY, BuildContext, Report
from .build_times import correct_times
from .builder_metrics import (
    BUILDING,
    IDLE,
    PAUSED,
    count_build,
    send_build_states,
    send_requests,
    with_gone,
)
from .clearing import (
    clear_machine,
    fail_abandoned,
)
from .image_builder import ImageBuilder

LONGEST_WAIT = 5.0
"""Largest number of seconds between two passes without events."""
FORCED = "forced"
LONGEST_SETTLING = 60.0
"""Seconds for which a build waits for a configuration that is being written; then it begins with the former one."""
TELL_EVERY = 60.0
"""Seconds between two metrics of requests and states of images."""


def run_builds(
    options: BuildOptions,
    *,
    progress: Callable[[str], None] = lambda line: None,
    stop: Stop | None = None,
    clock: Callable[[], float] | None = None,
    isolation: Isolation | None = None,
) -> dict[str, Any]:
    """Run one cycle and return the module's result.

    :param progress: takes lines for the operator.
    :param stop: may ask the cycle to end early; it then ends a running build.
    :param isolation: how child processes are started; None for the best isolation that this machine permits.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    apart = isolation or find_isolation()
    with opened(options, progress, roots=paths.IMAGE_ROOTS) as begun:
        images_dir, store, wish = ImagesDir(begun.config.images_dir or ""), begun.store, stop or Stop()
        builder_id = images_dir.builder_id()
        site = site_of(store, create=True)
        check_files(images_dir, store, site, write=True)
        image_builder = ImageBuilder(
            apart, say=progress, watch=lambda: wish.reason, first_room=options.first_build_room << 20
        )
        context = BuildContext(store, builder_id, image_builder, wish, say=progress, clock=clock or SteadyClock())
        return BuildsCycle(begun, context, apart, site).run()


class BuildsCycle(Work):
    """One run of the builder. All of its work happens in the thread that calls :meth:`run`."""

    def __init__(
        self,
        begun: Opened[BuildOptions],
        context: BuildContext,
        isolation: Isolation,
        site: str,
    ) -> None:
        self._options = begun.options
        self._config = begun.config
        self._watch = begun.watch
        self._cycle_counts = CycleCounts(begun.sink)
        self._counters = KeptCounters(begun.store, "builds", self._cycle_counts, context.say)
        self._heartbeat = Heartbeat(begun.store, "builds", TreeClock().hear, lambda: begun.sink.problem)
        self._site = site
        self._context = context
        self._inbox = Inbox(context.clock)
        self._isolation = isolation
        self._tell_at = 0.0
        self._building = ""
        self._sent: set[str] = set()
        """The image that is being built."""
        self._formats: dict[str, str] = {}
        self._format_problems: dict[str, str] = {}
        self._reports: list[Report] = []
        self._cleared: list[str] = []
        self._abandoned: list[str] = []
        self._forced: set[str] = set()
        self._cases: list[BuildCase] = []
        self._unsettled_since: float | None = None
        self._over = threading.Event()
        self._registration: Registration | None = None
        self._identity = Identity(context.store, begun.config, context.builder_id)

    def run(self) -> dict[str, Any]:
        """Work until the end."""
        context, began = self._context, self._context.clock()
        context.store.on_change(self._changed)
        context.stop.tell(self._stopped)
        context.stop.describe = self._describe
        context.image_builder.pause = self._rest
        self._read_formats()
        frame = Frame(self, context.store, self._config.zookeeper, context.stop, context.clock, context.say, once=True)
        self._identity.begin()
        try:
            ended = frame.run(began + self._options.duration)
        finally:
            self._counters.end(context.clock())
            self._heartbeat.end()
            self._identity.end()
            if self._registration is not None:
                self._registration.unregister()
        return self._result(ended, context.clock() - began)

    def _describe(self) -> list[str]:
        """Return lines about the work in progress. Any thread may call it."""
        store = self._context.store
        return [
            f"ZooKeeper: {store.state}, session {store.generation} of this cycle",
            f"inbox: {amount(self._inbox.waiting, 'call')} waiting",
            f"builds: {', '.join(sorted(self._context.building)) or 'none'} running; {len(self._reports)} ended",
        ]

    def _changed(self, path: str) -> None:
        """Wake the cycle only for changes of images: other parts of the tree may change often."""
        if not path or paths.below(path, paths.IMAGES) or path == paths.own(SITE):
            self._inbox.nudge()

    def _rest(self, seconds: float) -> None:
        """Wait while a build runs."""
        now = self._context.clock()
        if now >= self._tell_at:
            self._tell_at = now + TELL_EVERY
            self._tell_images()
        self._heartbeat.step(now, problems=self._watch.problems)
        self._over.wait(seconds)
        self._context.stop.beat(SERVING)

    def _stopped(self) -> None:
        self._over.set()
        self._inbox.nudge()

    # -- for the frame ---------------------------------------------------------------------------------------------

    def rest(self, seconds: float) -> None:
        """Wait; a request to stop ends the wait."""
        self._over.wait(seconds)

    def abandon(self) -> None:
        """Write no counters, as another tree has replaced the one that the cycle began with."""
        self._counters.abandon()

    def turn(self, now: float, deadline: float) -> str | None:
        """Apply a changed configuration, then run a pass."""
        self._counters.step(now)
        self._heartbeat.step(now, problems=self._watch.problems)
        self._look_at_config(now)
        return self._pass(now, deadline)

    def _pass(self, now: float, deadline: float) -> str | None:
        """Remove the remains of killed builds, then build one due image; return how the cycle ends, or None."""
        context = self._context
        check_tree(context.store, self._site)
        self._identity.check()
        if leftovers(self._config.images_dir or ""):
            confirm_tree(context.store, self._site)  # files of builds that are not ready in this tree are removed
        if self._registration is None:
            note_builder(context.store, self._config, context.builder_id, now)
            self._registration = register_builder(context.store)
        self._cleared += clear_machine(context.store, self._config.images_dir or "", context.say)
        view = self._view()
        for line in context.store.odd_documents():
            context.say(line)
        failed = fail_abandoned(context.store, view, now, context.say)
        self._abandoned += failed
        if failed or correct_times(context.store, view, now, context.say):
            view = self._view()
        self._drop_served(view)
        note_absences(context.store, view)
        chosen = self._options.chosen(self._config)
        self._cases = [self._judge(view, name) for name in chosen]
        if now >= self._tell_at:
            self._tell_at = now + TELL_EVERY
            self._tell_images()
        due = due_builds(self._cases)
        if due and self._changes_before_build(context.clock()):
            self._inbox.take(self._watch.due(context.clock()))
            return None
        for case in due:
            if self._build(case):
                return None
        if self._options.until == SETTLED and not self._waits(view):
            return SETTLED
        wake = min((case.at for case in self._cases if case.at is not None), default=now + LONGEST_WAIT)
        self._inbox.take(max(0.0, min(wake - now, LONGEST_WAIT, deadline - now)))
        return None

    def _judge(self, view: ImagesView, name: str, *, holding: bool = False) -> BuildCase:
        """Return the case of the image; with the force option, an image that was not tried yet is due."""
        return forced(judge_build(view, name, holding=holding), self._options.force and name not in self._forced)

    def _waits(self, view: ImagesView) -> bool:
        """Return True while another builder builds a named image, or a dead cycle of this builder holds a lock."""
        under_way = [case.image for case in self._cases if case.code == BuildCode.BUILDING]
        return bool(under_way) and (
            self._options.images is not None
            or any(
                build.state == BuildState.BUILDING and view.is_ours(build) and build.id not in view.building
                for name in under_way
                for build in view.image(name).builds
            )
        )

    def _build(self, case: BuildCase) -> bool:
        """Build the image, unless another builder does; return True if it was tried."""
        context = self._context
        held = context.store.images.lock_image(case.image)
        if held is None:
            return False
        try:
            if not context.store.images.knows_builds(case.image):
                # The former holder of the lock may have written records that the cache does not show yet.
                return False
            fresh = self._judge(self._view(), case.image, holding=True)
            if not fresh.due:
                return False
            self._forced.add(case.image)
            self._building = case.image
            self._tell_images()
            report = context.build(self._config, fresh, held, convert_vhd=self._options.convert_vhd)
            self._reports.append(report)
            count_build(self._cycle_counts, report, context.clock())
            self._counters.flush(context.clock())
        finally:
            self._building = ""
            held.release()
        self._tell_images()
        return True

    def _tell_images(self) -> None:
        """Send the metrics of each image: whether it is requested, and its state."""
        pending, states = {}, {}
        for case in self._cases:
            building = case.image == self._building
            asked = case.requested is not None and case.code != BuildCode.BUILDING
            pending[case.image] = asked and not building
            states[case.image] = BUILDING if building else PAUSED if case.code == BuildCode.PAUSED else IDLE
        # Both have the same images.
        sent = set(self._sent)
        send_requests(self._cycle_counts.sink, with_gone(pending, sent))
        send_build_states(self._cycle_counts.sink, self._context.hostname, with_gone(states, self._sent))

    def _view(self) -> ImagesView:
        images_dir = self._config.images_dir or ""
        return view_images(
            self._context.store,
            self._config,
            now=self._context.clock(),
            provider_formats=self._formats,
            files=local_files(ImagesDir(images_dir)),
            builder_id=self._context.builder_id,
            building={*self._context.building, *claimed(images_dir)},
        )

    def _drop_served(self, view: ImagesView) -> None:
        """Drop requests that a former cycle has served but could not drop before its end."""
        for state in view.images.values():
            if state.name in self._config.diskimages and served_request(state) and not state.locked:
                self._context.store.images.drop_request(state.name)

    def _changes_before_build(self, now: float) -> bool:
        """Look at the files of the configuration before a build; return True when it must be judged again with them.

        A build takes hours, and images that are due begin one right after the other.
        """
        if self._look_at_config(now, at_once=True):
            self._unsettled_since = None
            return True
        if not self._watch.settling:
            self._unsettled_since = None
            return False
        if self._unsettled_since is None:
            self._unsettled_since = now
        return now - self._unsettled_since < LONGEST_SETTLING

    def _look_at_config(self, now: float, *, at_once: bool = False) -> bool:
        """Apply changed files; return True when there were any."""
        news = self._watch.poll(now, at_once=at_once)
        if news is None:
            return False
        if news.config is not None and news.config.images_dir != self._config.images_dir:
            self._context.say("configuration: images-dir has changed: the next cycle uses the new one")
        elif news.config is not None:
            self._config = news.config
            self._identity.listing(news.config)
            note_builder(self._context.store, news.config, self._context.builder_id, now)
        self._read_formats()
        return True

    def _read_formats(self) -> None:
        formats, problems = provider_formats(self._config, self._options.clouds_config)
        for name, problem in problems.items():
            if self._format_problems.get(name) != problem:
                self._context.say(Trouble(of_provider(name, problem), provider=name))
        self._formats, self._format_problems = formats, problems

    def _result(self, ended: str, seconds: float) -> dict[str, Any]:
        built = {report.image for report in self._reports}
        return {
            "changed": bool(self._reports or self._cleared or self._abandoned),
            "ended": ended,
            "seconds": round(seconds, 3),
            "builds": [report.result() for report in self._reports],
            "not_built": [case_document(case) for case in self._cases if case.image not in built],
            "cleared": self._cleared,
            "abandoned": self._abandoned,
            "isolation": {"level": self._isolation.level, "why_not": self._isolation.why_not},
            "left_out": dict(self._format_problems),
            "config_problems": list(self._watch.problems),
            "warnings": config_warnings(self._config, self._context.store),
        }


def forced(case: BuildCase, force: bool) -> BuildCase:
    """Return the case as due if *force* asks for a build that is not due but possible."""
    if not force or case.due or case.code not in (BuildCode.FRESH, BuildCode.BACKOFF) or not case.formats:
        return case
    return BuildCase(case.image, True, FORCED, f"requested; otherwise: {case.reason}", case.formats, case.requested)


def case_document(case: BuildCase) -> dict[str, Any]:
    """Return why an image is built or not, as the module returns it."""
    return {"image": case.image, "code": case.code, "reason": case.reason, "formats": list(case.formats)}


def failures_of(reports: Collection[dict[str, Any]]) -> list[str]:
    """Return a sentence for each build that did not become ready."""
    return [f"{report['image']}: {report['error']}" for report in reports if report["state"] != READY]
