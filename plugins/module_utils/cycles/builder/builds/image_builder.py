# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the files of one image: takes a claim on the disk, runs diskimage-builder, converts and checks the files.

It does not use ZooKeeper. In any case, only the log of the build remains on the machine, and its files if all of them
are complete.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ....clients.diskimage_builder.child import CANNOT_RUN, Child
from ....clients.diskimage_builder.convert import conversion, finish
from ....clients.diskimage_builder.folders import refuse_shared
from ....clients.diskimage_builder.images_dir import (
    CHECKSUMS,
    ImagesDir,
    lacking_room,
)
from ....clients.diskimage_builder.isolation import Isolation
from ....clients.diskimage_builder.kernel_log import WRITE_ERROR, KernelLog
from ....clients.diskimage_builder.logs import (
    FULL,
    UNWRITABLE,
    LogTail,
    append_line,
    find_cause,
    is_cause,
    list_logs,
    make_folder,
    remove_logs,
)
from ....clients.diskimage_builder.reaper import Reaped, loop_devices_below, reap
from ....clients.diskimage_builder.scratch import scratch_claim
from ....imaging.command import (
    Command,
    Formats,
    command,
    divide,
)
from ....imaging.files import (
    base_name,
    image_file,
    log_file,
    logs_to_prune,
)
from ....imaging.notes import BuildNotes
from ....model.config.types import Diskimage, NodepoolConfig
from ....model.errors import ConfigError, ImageFileError
from ....model.lines import Line

PACE = 0.25
"""Seconds between two checks of the child process."""
SAY_EVERY = 5.0
"""Seconds between two lines about the same build."""
MARGIN = 1.2
"""A build needs this multiple of the room that the last build took."""
SCRATCH_IMAGES = 2
"""Number of temporary images: the tree and the raw image before its conversion. Each may be as large as the largest
file of the build."""

FIRST = "before the first build of an image (first_build_room)"

TIMED_OUT = "time-out"
FAILED = "failed"


@dataclass(frozen=True)
class Job:
    """One build to make.

    :param formats: the formats of the wanted files.
    :param notes: the notes about the last build; empty if there are none.
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
        """Return the job for an image of the configuration.

        :param output_dir: the directory for files and log, instead of the directories of the configuration.
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
        """The prefix of the names of its files."""
        return base_name(self.image.name, self.build_id)

    @property
    def log(self) -> str:
        """The path of its log."""
        return os.path.join(self.log_dir, log_file(self.image.name, self.build_id))


@dataclass
class BuildOutput:
    """The result of a build.

    :ivar cause: empty for a success, ``failed``, ``time-out``, or the text that *watch* returned.
    :ivar error: a sentence for the operator; empty for a success.
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
        """True when all files are complete."""
        return not self.cause


class Ended(Exception):
    """The build must end early."""

    def __init__(self, cause: str, error: str) -> None:
        self.cause = cause
        super().__init__(error)


class ImageBuilder:
    """Makes images one after the other.

    :param isolation: how child processes are started.
    :param say: takes lines for the operator.
    :param watch: called repeatedly while a build runs; a text that it returns ends the build with that cause.
    :param pause: waits at most the given seconds.
    :param clock: monotonic seconds.
    :param first_room: bytes needed for the files, and as many for the scratch space, if there was no build before.
    :param kernel_log: returns a new reader that finds the devices that lose writes from then on.
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
        """Check whether the build can be begun. Writes nothing.

        :raises ConfigError: it can never be begun with this configuration.
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
        """Return the problem that :meth:`check` finds, for check mode; "" if there is none."""
        try:
            self.check(job)
        except (ConfigError, ImageFileError) as problem:
            return f"cannot be built: {problem}"
        return ""

    def prepare(self, job: Job) -> None:
        """Check the job; create the folder of the logs and remove old logs.

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
        # The room that a first build takes is unknown, but no build succeeds with less than this.
        return lacking_room({job.images_dir: self._first_room, scratch: self._first_room}, FIRST)

    def make(self, job: Job) -> BuildOutput:
        """Build the image. Never raises for a problem of the build itself."""
        began = self.clock()
        folder = ImagesDir(job.images_dir)
        made = BuildOutput(FAILED)
        try:
            formats = self._formats(job)
            planned = self._command(job, formats)
            with scratch_claim(job.images_dir, job.image.name, job.build_id, planned.temporary) as leftover:
                work = _Work(self, job, planned, leftover.place, began + job.image.build_timeout)
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
        """Check whether the build must end. Call it regularly during long work.

        :raises Ended: the build must end.
        """
        cause = self.watch()
        if cause:
            raise Ended(cause, f"was stopped early: {cause}")

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
    """One running build.

    :param place: the directory of its temporary files, without links: so the kernel names the files of loop devices.
    """

    def __init__(self, image_builder: ImageBuilder, job: Job, planned: Command, place: str, deadline: float) -> None:
        self._image_builder = image_builder
        self._job = job
        self._planned = planned
        self._place = place
        self._deadline = deadline
        self._tail = LogTail(job.log, job.image.env_vars.values())
        self._child: Child | None = None
        self._said = float("-inf")
        self._code: int | None = None
        self._kernel_log = image_builder.kernel_log()
        self._lost: dict[str, str] = {}
        self._loop_devices: set[str] = set()

    def run(self, formats: Formats, folder: ImagesDir) -> None:
        """Make all files.

        :raises Ended: the build failed or was ended.
        :raises ImageFileError: a file cannot be read or written.
        """
        isolation = self._image_builder.isolation
        append_line(
            self._job.log, f"build {self._job.build_id} of {self._job.image.name}: {shlex.join(self._planned.argv)}"
        )
        if isolation.why_not:
            append_line(self._job.log, f"isolation: {isolation.level}, because {isolation.why_not}")
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
        """End a running child process and write the last line of the log; return the exit code."""
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
                self._tail.read()
                where = ": ".join(filter(None, (self._tail.phase, self._tail.last_line)))
                told = f"it took longer than its build-timeout of {job.image.build_timeout} s"
                raise Ended(TIMED_OUT, f"{told}{where and f', in {where}'}; see {job.log}")
            image_builder.pause(PACE)
        child.settle()
        child.end()  # what is left of it may still write to an image
        self._code = code
        self._look()
        if code != 0:
            how = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            raise Ended(FAILED, f"{os.path.basename(argv[0])} {how}{self._why()}; see {job.log}")

    def _why(self) -> str:
        """Return the cause of a failure from the log, with the remedy if room is or may be missing."""
        cause, last = find_cause(self._job.log, self._job.image.env_vars.values()), self._tail.last_line
        told = ", then: ".join(dict.fromkeys(filter(None, (cause, "" if cause and is_cause(last) else last))))
        if UNWRITABLE.search(cause):
            return f": {told}: check the free space in {' and '.join(self._folders)}, and dmesg for errors of the disk"
        if not FULL.search(cause):
            return f": {told}" if told else ""
        size = ", or increase DIB_IMAGE_SIZE" if "DIB_IMAGE_SIZE" in self._job.image.env_vars else ""
        return f": {told}: free space in {' or '.join(self._folders)}{size}"

    @property
    def _folders(self) -> list[str]:
        """The directories that a build fills."""
        scratch = os.path.dirname(os.path.dirname(self._planned.temporary))
        return list(dict.fromkeys((self._job.images_dir, scratch)))

    def _look(self) -> None:
        """Read the new lines in the logs of the build and of the kernel.

        :raises Ended: the kernel could not write all of the image, which diskimage-builder may not notice.
        """
        known = set(self._loop_devices)
        self._loop_devices.update(loop_devices_below([self._place]))
        # What a device lost before this build had it was another build's.
        lost = self._kernel_log.lost_writes(known)
        self._lost = {**{device: lost[device] for device in self._loop_devices & set(lost)}, **self._lost}
        tail, now = self._tail, self._image_builder.clock()
        if tail.read() and now - self._said >= SAY_EVERY:
            self._said = now
            line = f"{self._job.image.name}: {tail.phase or 'begun'}: {tail.last_line}"
            self._image_builder.say(Line(line, image=self._job.image.name, build=self._job.build_id))
        for device in sorted(self._lost):
            self._code = self._code or 1
            why, folder = self._lost[device], self._folders[-1]
            remedy = "check that disk: it may be broken"
            if FULL.search(why):
                remedy = "free space there"
            elif why == WRITE_ERROR:
                remedy = "free space there if it is full, otherwise check that disk: it may be broken"
            text = f"{why}: the kernel could not write all of the image to {folder}, through {device}: {remedy}"
            raise Ended(FAILED, f"{text}; see {self._job.log}")

    def _convert(self, folder: ImagesDir, source: str, target: str) -> None:
        job = self._job
        paths = [os.path.join(folder.path, image_file(job.image.name, job.build_id, name)) for name in (source, target)]
        append_line(job.log, f"converting {source} into {target} with qemu-img")
        self._run_child(conversion(paths[0], source, paths[1], target))
        finish(paths[1])

    def _check(self, folder: ImagesDir) -> None:
        """Check that all wanted files exist and contain data, and write missing checksums.

        :raises Ended: a file is missing or empty.
        """
        job = self._job
        sizes = folder.sizes(job.base, job.formats)
        missing = [name for name in job.formats if name not in sizes]
        if missing:
            self._code = self._code or 1
            raise Ended(FAILED, f"it succeeded, but created no {' and no '.join(missing)} file; see {job.log}")
        empty = folder.empty(job.base, job.formats)
        if empty:
            self._code = self._code or 1
            raise Ended(FAILED, f"it succeeded, but its {' and its '.join(empty)} file is empty; see {job.log}")
        for name in job.formats:
            file = image_file(job.image.name, job.build_id, name)
            if len(folder.checksums(file)) < len(CHECKSUMS):
                folder.write_checksums(file, self._image_builder.attend)


def room_needed(job: Job, scratch: str) -> dict[str, int]:
    """Return directory → bytes that it must have free; empty if no former build shows what is needed.

    :param scratch: the directory of the temporary files.
    """
    files = job.notes.space_needed(job.formats)
    if files is None:
        return {}
    temporary = SCRATCH_IMAGES * max(job.notes.sizes.values())
    return {job.images_dir: int(MARGIN * files), scratch: int(MARGIN * temporary)}
