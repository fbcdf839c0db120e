# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the files of one image: a claim on the disk, diskimage-builder, conversions, a look at what came of it.

Knows nothing of ZooKeeper. Whatever happens, nothing of the build is left on the machine but its log and, when all of
it is there, its files.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...clients.diskimage_builder.child import CANNOT_RUN, Child
from ...clients.diskimage_builder.convert import conversion, finish
from ...clients.diskimage_builder.folders import refuse_shared
from ...clients.diskimage_builder.images_dir import (
    CHECKSUMS,
    ImagesDir,
    lacking_room,
)
from ...clients.diskimage_builder.isolation import Isolation
from ...clients.diskimage_builder.kernel_log import KernelLog
from ...clients.diskimage_builder.logs import (
    CAUSE,
    FULL,
    LogTail,
    append_line,
    find_cause,
    list_logs,
    make_folder,
    remove_logs,
)
from ...clients.diskimage_builder.reaper import Reaped, loop_devices_below, reap
from ...clients.diskimage_builder.scratch import scratch_claim
from ...imaging.command import (
    Command,
    Formats,
    command,
    divide,
)
from ...imaging.files import (
    base_name,
    image_file,
    log_file,
    logs_to_prune,
)
from ...imaging.notes import BuildNotes
from ...model.config.types import Diskimage, NodepoolConfig
from ...model.errors import ConfigError, ImageFileError
from ...model.lines import Line

PACE = 0.25
"""Seconds between two looks at the child."""
SAY_EVERY = 5.0
"""Seconds between two lines about the same build."""
MARGIN = 1.2
"""How much more room there must be than the last build took."""
SCRATCH_IMAGES = 2
"""The tree and the raw image, before it is converted: each may be as large as the largest file that comes of it."""

FIRST = "before the first build of an image (first_build_room)"

TIMED_OUT = "time-out"
FAILED = "failed"


@dataclass(frozen=True)
class Job:
    """What is to be made.

    :param formats: of the files that are wanted.
    :param notes: what is known of the last build; None when nothing is.
    :param nonce: part of the name of its temporary directory outside of images-dir.
    """

    image: Diskimage
    build_id: str
    formats: tuple[str, ...]
    images_dir: str
    log_dir: str
    log_retention: int
    elements_dir: str | None = None
    convert_vhd: bool = False
    notes: BuildNotes = field(default_factory=BuildNotes)
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    @classmethod
    def of(
        cls,
        config: NodepoolConfig,
        image: str,
        formats: tuple[str, ...],
        build_id: str,
        *,
        convert_vhd: bool,
        notes: BuildNotes | None = None,
        output_dir: str | None = None,
    ) -> Job:
        """The job for an image of the configuration.

        :param output_dir: takes files and log in place of the directories of the configuration.
        """
        return cls(
            image=config.diskimages[image],
            build_id=build_id,
            formats=formats,
            images_dir=output_dir or config.images_dir or "",
            log_dir=output_dir or config.build_log_dir,
            log_retention=config.build_log_retention,
            elements_dir=config.elements_dir,
            convert_vhd=convert_vhd,
            notes=notes or BuildNotes(),
        )

    @property
    def base(self) -> str:
        """What the names of its files begin with."""
        return base_name(self.image.name, self.build_id)

    @property
    def log(self) -> str:
        """The path of its log."""
        return os.path.join(self.log_dir, log_file(self.image.name, self.build_id))


@dataclass
class BuildOutput:
    """What came of it.

    :ivar cause: empty for a success, ``failed``, ``time-out``, or what the watcher said.
    :ivar error: a sentence for people; empty for a success.
    :ivar sizes: format → bytes on disk.
    """

    cause: str = ""
    error: str = ""
    code: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    reaped: Reaped | None = None

    @property
    def ok(self) -> bool:
        """True when all the files are there."""
        return not self.cause


class Ended(Exception):
    """The build is to end before its time."""

    def __init__(self, cause: str, error: str) -> None:
        self.cause = cause
        super().__init__(error)


class ImageBuilder:
    """Makes images one after the other.

    :param isolation: how children are started.
    :param say: takes lines for people.
    :param watch: called again and again while a build runs; a text that it returns ends the build for that cause.
    :param pause: waits for so many seconds, or less.
    :param clock: seconds that only rise.
    :param first_room: bytes for the files, and as many for the scratch space, when no build tells what it takes.
    :param kernel_log: makes what tells which devices lost writes from then on.
    """

    def __init__(
        self,
        isolation: Isolation,
        *,
        say: Callable[[str], None] = lambda line: None,
        watch: Callable[[], str | None] = lambda: None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        environment: Mapping[str, str] | None = None,
        first_room: int = 0,
        kernel_log: Callable[[], KernelLog] = KernelLog,
    ) -> None:
        self.isolation = isolation
        self.say = say
        self.watch = watch
        self.pause = pause
        self.clock = clock
        self.kernel_log = kernel_log
        self._first_room = first_room
        self._environment = dict(os.environ if environment is None else environment)

    def check(self, job: Job) -> None:
        """See whether the build can be begun. Writes nothing.

        :raises ConfigError: it never can with this configuration.
        :raises ImageFileError: there is no room, or every user of the machine may write to a folder.
        """
        planned = self._command(job, self._formats(job))
        room = self._lacking(job, planned.temporary)
        if room:
            raise ImageFileError("; ".join(room))
        scratch = os.path.dirname(os.path.dirname(planned.temporary))
        refuse_shared(job.images_dir, "images-dir or output_dir")
        refuse_shared(job.log_dir, "build-log-dir")
        refuse_shared(scratch, "TMPDIR", sticky=True)

    def problem(self, job: Job) -> str:
        """What :meth:`check` says is wrong, for check mode; "" for nothing."""
        try:
            self.check(job)
        except (ConfigError, ImageFileError) as problem:
            return f"cannot be built: {problem}"
        return ""

    def prepare(self, job: Job) -> None:
        """Check the job; make the folder of the logs and prune it.

        :raises ConfigError: as :meth:`check`.
        :raises ImageFileError: as :meth:`check`, or the folder cannot be made.
        """
        self.check(job)
        make_folder(job.log_dir, "build-log-dir")
        remove_logs(job.log_dir, logs_to_prune(list_logs(job.log_dir), job.image.name, job.log_retention))

    def _lacking(self, job: Job, scratch: str) -> list[str]:
        needs = room_needed(job, scratch)
        if needs:
            return lacking_room(needs)
        # What the first build takes is not known, but with less than this none comes to its end.
        return lacking_room({job.images_dir: self._first_room, scratch: self._first_room}, FIRST)

    def make(self, job: Job) -> BuildOutput:
        """Build. Never raises for what is wrong with the build itself."""
        began = self.clock()
        folder = ImagesDir(job.images_dir)
        made = BuildOutput(FAILED)
        try:
            formats = self._formats(job)
            planned = self._command(job, formats)
            with scratch_claim(job.images_dir, job.image.name, job.build_id, planned.temporary) as leftover:
                work = _Work(self, job, planned, began + job.image.build_timeout)
                try:
                    work.run(formats, folder)
                    made.cause = ""
                except Ended as end:
                    made.cause, made.error = end.cause, str(end)
                finally:
                    made.code = work.end()
                    made.reaped = reap(leftover, grace=0.0)
        except (ConfigError, ImageFileError) as problem:
            made.cause, made.error = FAILED, str(problem)
        finally:
            made.seconds = self.clock() - began
            if made.ok:
                made.sizes = folder.sizes(job.base, job.formats)
            else:
                folder.remove_build(job.base)
        return made

    @staticmethod
    def discard(job: Job) -> None:
        """Remove the files of a build that did not become ready."""
        ImagesDir(job.images_dir).remove_build(job.base)

    def attend(self) -> None:
        """To be called now and then while something takes long.

        :raises Ended: the build is to end.
        """
        cause = self.watch()
        if cause:
            raise Ended(cause, f"ended before its time: {cause}")

    def _formats(self, job: Job) -> Formats:
        return divide(job.formats, convert_vhd=job.convert_vhd and shutil.which("vhd-util") is None)

    def _command(self, job: Job, formats: Formats) -> Command:
        return command(
            job.image,
            job.build_id,
            formats.made,
            images_dir=job.images_dir,
            elements_dir=job.elements_dir,
            environment=self._environment,
            nonce=job.nonce,
        )


class _Work:
    """One build that runs."""

    def __init__(self, image_builder: ImageBuilder, job: Job, planned: Command, deadline: float) -> None:
        self._image_builder = image_builder
        self._job = job
        self._planned = planned
        self._deadline = deadline
        self._tail = LogTail(job.log, job.image.env_vars.values())
        self._child: Child | None = None
        self._said = float("-inf")
        self._code: int | None = None
        self._kernel_log = image_builder.kernel_log()
        self._lost: dict[str, str] = {}
        self._loop_devices: set[str] = set()

    def run(self, formats: Formats, folder: ImagesDir) -> None:
        """Make all the files.

        :raises Ended: it did not come to its end.
        :raises ImageFileError: a file cannot be read or written.
        """
        isolation = self._image_builder.isolation
        append_line(
            self._job.log, f"build {self._job.build_id} of {self._job.image.name}: {shlex.join(self._planned.argv)}"
        )
        if isolation.why_not:
            append_line(self._job.log, f"kept apart: {isolation.level}, because {isolation.why_not}")
        self._tail.skip()
        self._run_child(self._planned.argv)
        for source, target in formats.converted:
            self._convert(folder, source, target)
        for name in formats.surplus:
            file = image_file(self._job.image.name, self._job.build_id, name)
            folder.remove([file])
            folder.remove_build(file)
        self._check(folder)

    def end(self) -> int:
        """End what still runs, and write the last line of the log; the exit code."""
        if self._child is not None:
            code = self._child.end()
            self._code = code if not self._code else self._code
        self._kernel_log.close()
        code = CANNOT_RUN if self._code is None else self._code
        append_line(self._job.log, f"Exit code: {code}")
        return code

    def _run_child(self, argv: Sequence[str]) -> None:
        job, image_builder = self._job, self._image_builder
        self._child = child = Child(job.build_id, argv, self._planned.environment, job.log, image_builder.isolation)
        child.start()
        while (code := child.poll()) is None:
            self._look()
            image_builder.attend()
            if image_builder.clock() >= self._deadline:
                self._code = child.end()
                raise Ended(TIMED_OUT, f"it took longer than its build-timeout of {job.image.build_timeout} s")
            image_builder.pause(PACE)
        child.settle()
        self._code = code
        self._look()
        if code != 0:
            raise Ended(FAILED, f"{os.path.basename(argv[0])} ended with exit code {code}{self._why()}; see {job.log}")

    def _why(self) -> str:
        """What the log says of a failure, with the remedy where the log shows that room is missing."""
        cause, last = find_cause(self._job.log, self._job.image.env_vars.values()), self._tail.last_line
        told = ", then: ".join(dict.fromkeys(filter(None, (cause, "" if cause and CAUSE.search(last) else last))))
        if not FULL.search(cause):
            return f": {told}" if told else ""
        size = ", or make DIB_IMAGE_SIZE larger" if "DIB_IMAGE_SIZE" in self._job.image.env_vars else ""
        return f": {told}: free space in {' or '.join(self._folders)}{size}"

    @property
    def _folders(self) -> list[str]:
        """The directories that a build fills."""
        scratch = os.path.dirname(os.path.dirname(self._planned.temporary))
        return list(dict.fromkeys((self._job.images_dir, scratch)))

    def _look(self) -> None:
        """Read on in the log of the build, and in that of the kernel.

        :raises Ended: the kernel could not write all of the image, which diskimage-builder may not notice.
        """
        self._loop_devices.update(loop_devices_below([self._planned.temporary]))
        self._lost = {**self._kernel_log.lost_writes(), **self._lost}
        tail, now = self._tail, self._image_builder.clock()
        if tail.read() and now - self._said >= SAY_EVERY:
            self._said = now
            line = f"{self._job.image.name}: {tail.phase or 'begun'}: {tail.last_line}"
            self._image_builder.say(Line(line, image=self._job.image.name, build=self._job.build_id))
        for device in sorted(self._loop_devices & set(self._lost)):
            self._code = self._code or 1
            why, folder = self._lost[device], self._folders[-1]
            remedy = "free space there" if FULL.search(why) else "the disk there may be broken"
            text = f"{why}: the kernel could not write all of the image to {folder}, through {device}: {remedy}"
            raise Ended(FAILED, f"{text}; see {self._job.log}")

    def _convert(self, folder: ImagesDir, source: str, target: str) -> None:
        job = self._job
        paths = [os.path.join(folder.path, image_file(job.image.name, job.build_id, name)) for name in (source, target)]
        append_line(job.log, f"converting {source} into {target} with qemu-img")
        self._run_child(conversion(paths[0], source, paths[1], target))
        finish(paths[1])

    def _check(self, folder: ImagesDir) -> None:
        """All that is wanted is there, with its checksums."""
        job = self._job
        sizes = folder.sizes(job.base, job.formats)
        missing = [name for name in job.formats if name not in sizes]
        if missing:
            self._code = self._code or 1
            raise Ended(FAILED, f"it ended well, but made no {' and no '.join(missing)} file; see {job.log}")
        for name in job.formats:
            file = image_file(job.image.name, job.build_id, name)
            if len(folder.checksums(file)) < len(CHECKSUMS):
                folder.write_checksums(file, self._image_builder.attend)


def room_needed(job: Job, scratch: str) -> dict[str, int]:
    """Directory → bytes that it must be able to take; nothing when no build tells.

    :param scratch: the directory of the temporary files.
    """
    files = job.notes.space_needed(job.formats)
    if files is None:
        return {}
    temporary = SCRATCH_IMAGES * max(job.notes.sizes.values())
    return {job.images_dir: int(MARGIN * files), scratch: int(MARGIN * temporary)}
