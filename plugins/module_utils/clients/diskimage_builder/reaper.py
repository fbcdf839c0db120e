# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of the processes, mounts, loop devices and temporary files that a build has left on its machine.

The build's mark and its directory tell what belongs to the build; nothing else is ever touched. No link is followed on
the way to the directory, and its parent must belong to the user of the builder alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ...model.errors import ImageFileError
from ...model.lines import amount, joined, word_for
from ..proc import PROC, mount_points
from . import processes
from .commands import (
    Run,
    as_root,
    run,
)
from .folders import (
    closed,
    open_own,
    open_without_links,
)
from .scratch import TEMPORARY, Leftover

MOST_MOUNTS = 1000
_ROUNDS = 5


@dataclass
class Reaped:
    """The result of a removal. *problems*: one sentence for each failure; the next cycle tries again."""

    build_id: str
    processes: int = 0
    mounts: list[str] = field(default_factory=list)
    loop_devices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        """True when there was more to remove than a directory."""
        return bool(self.processes or self.mounts or self.loop_devices or self.problems)

    def text(self) -> str:
        """Return what was removed, and the problems, as a text for the operator."""
        parts = [
            amount(self.processes, "process", "processes") if self.processes else "",
            *(
                f"{word_for(len(names), noun)} {joined(names)}"
                for noun, names in (("mount", self.mounts), ("loop device", self.loop_devices))
                if names
            ),
        ]
        return ", ".join([part for part in parts if part] + self.problems) or "temporary files"


@dataclass(frozen=True)
class System:
    """The access to the system: the kernel's folders, and the functions that run commands."""

    proc: str = PROC
    sys: str = "/sys"
    runner: Run = run
    sleep: Callable[[float], None] = time.sleep
    which: Callable[[str], str | None] = shutil.which


def reap(leftover: Leftover, *, grace: float = 2.0, system: System | None = None) -> Reaped:
    """Remove everything that a build has left behind."""
    machine = system or System()
    done = Reaped(leftover.build_id)
    places = [place for place in dict.fromkeys((leftover.place, leftover.claim)) if _is_ours(done, place)]
    _end_processes(done, leftover, grace, machine)
    for _round in range(_ROUNDS):  # a mount may keep a loop device in use, and a loop device may keep a mount in use
        mounts, devices = mounts_below(places, machine.proc), loop_devices_below(places, machine.sys)
        if not mounts and not devices:
            break
        _unmount(done, mounts, machine)
        _detach(done, loop_devices_below(places, machine.sys), machine)
    for mount in mounts_below(places, machine.proc):
        done.problems.append(f"{mount} cannot be unmounted")
    for device in loop_devices_below(places, machine.sys):
        done.problems.append(f"{device} cannot be detached")
    if not done.problems:
        for place in places:
            _remove(done, place, machine)
    return done


@contextlib.contextmanager
def _parent(place: str) -> Iterator[tuple[int, int]]:
    """Yield descriptors of the parent directory of *place*, and of the directory above the parent.

    :raises ImageFileError: the parent does not belong to this user alone.
    :raises OSError: the parent does not exist, or a part of its path became a link.
    """
    path = os.path.dirname(place)
    with (
        closed(open_without_links(os.path.dirname(path))) as above,
        closed(open_own(os.path.basename(path), above, path)) as parent,
    ):
        yield parent, above


def _is_ours(done: Reaped, place: str) -> bool:
    """Return True when the reaper may work below a place, or the place is gone: it may have left a loop device."""
    try:
        with _parent(place):
            return True
    except FileNotFoundError:
        return True
    except (ImageFileError, OSError) as problem:
        done.problems.append(f"{place} is not touched: {_words(problem)}")
        return False


def _words(problem: Exception) -> str:
    if not isinstance(problem, OSError):
        return str(problem)
    link = isinstance(problem, NotADirectoryError)
    return "a part of its path is now a link or a file" if link else problem.strerror or str(problem)


def _end_processes(done: Reaped, leftover: Leftover, grace: float, machine: System) -> None:
    def find() -> set[int]:
        return processes.of_build(leftover.build_id, proc=machine.proc)

    done.processes = len(find())
    left = processes.end(find, grace=grace, sleep=machine.sleep) if done.processes else set()
    if left:
        done.problems.append(f"processes {' '.join(map(str, sorted(left)))} did not end")


def mounts_below(places: Iterable[str], proc: str = PROC) -> list[str]:
    """Return the mount points at or below the places, the last mounted first."""
    roots = tuple(places)
    found = [
        point for point in mount_points(proc) if any(point == root or point.startswith(f"{root}/") for root in roots)
    ]
    return found[::-1][:MOST_MOUNTS]


def loop_devices_below(places: Iterable[str], sys: str = "/sys") -> list[str]:
    """Return, as ``/dev/loopN``, the loop devices whose file, deleted or not, is below one of the places."""
    roots = tuple(places)
    found = []
    try:
        names = sorted(name for name in os.listdir(f"{sys}/block") if name.startswith("loop"))
    except OSError:
        return []
    for name in names:
        try:
            with open(f"{sys}/block/{name}/loop/backing_file", encoding="utf-8", errors="surrogateescape") as file:
                backing = file.read().strip("\n")
        except OSError:
            continue  # not in use
        if any(_lies_below(backing, root) for root in roots):
            found.append(f"/dev/{name}")
    return found


def _lies_below(backing: str, place: str) -> bool:
    """Return True when the backing file of a loop device is below a place of a build.

    The kernel shows the path of the file from the root of the mount through which it was opened. When that mount is
    gone (the mount namespace of the build, a folder that systemd mounts for the service), the front of the path is
    missing.
    """
    if backing.startswith(f"{place}/"):
        return True
    own = "/".join(["", *place.split("/")[-2:], ""])
    front, found, _rest = backing.partition(own)
    return (
        bool(found) and own.startswith((f"/{TEMPORARY}/", f"/{TEMPORARY}-")) and f"{place}/".endswith(f"{front}{own}")
    )


def _unmount(done: Reaped, mounts: Iterable[str], machine: System) -> None:
    for mount in mounts:
        for options in ([], ["-l"]):  # at once if possible, else lazily: the mount ends with its last user
            if machine.runner(as_root(["umount", *options, mount])).ok:
                done.mounts.append(mount)
                break


def _detach(done: Reaped, devices: Iterable[str], machine: System) -> None:
    for device in devices:
        if machine.which("kpartx") is not None:
            machine.runner(as_root(["kpartx", "-d", device]))
        if machine.runner(as_root(["losetup", "-d", device])).ok and device not in done.loop_devices:
            done.loop_devices.append(device)


def _remove(done: Reaped, place: str, machine: System) -> None:
    name = os.path.basename(place)
    try:
        with _parent(place) as (parent, above):
            # Files that sudo made belong to root. The command starts in the directory that was checked, so no path is
            # looked up again. Nothing should be mounted below any more; --one-file-system makes sure.
            answer = machine.runner(as_root(["rm", "-rf", "--one-file-system", "--", f"./{name}"]), folder=parent)
            if not answer.ok:
                done.problems.append(f"{place} cannot be removed: {answer.output}")
            elif os.path.basename(os.path.dirname(place)) != TEMPORARY:
                os.rmdir(os.path.basename(os.path.dirname(place)), dir_fd=above)  # it was made for this build
    except FileNotFoundError:
        return
    except (ImageFileError, OSError) as problem:
        done.problems.append(f"{place} cannot be removed: {_words(problem)}")
