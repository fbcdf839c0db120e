# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of ``/proc``: processes, mounts, and the identity of this machine. See proc(5)."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass

PROC = "/proc"
_ENDED = (b"Z", b"X")
_OCTAL = {b"\\040": b" ", b"\\011": b"\t", b"\\012": b"\n", b"\\134": b"\\"}


@dataclass(frozen=True)
class Process:
    """A process.

    :ivar started: clock ticks since the boot. A later process with the same number has another start.
    :ivar ended: the process is a zombie: its parent has not read its exit status yet.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: int
    ended: bool = False


def process(pid: int, proc: str = PROC) -> Process | None:
    """Return the process with that id, None when there is none.

    :raises OSError: the process cannot be read now: there are too many open files, or too little memory.
    """
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            # The name of the program comes first, in brackets, and may hold brackets and blanks itself.
            fields = file.read().rpartition(b")")[2].split()
        return Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), ended=fields[0] in _ENDED)
    except (FileNotFoundError, ProcessLookupError, ValueError, IndexError):
        return None


def processes(proc: str = PROC) -> dict[int, Process]:
    """Return all processes, by their ids."""
    found: dict[int, Process] = {}
    for name in os.listdir(proc):
        if name.isdigit():
            try:
                seen = process(int(name), proc)
            except OSError:
                continue
            if seen is not None:
                found[seen.pid] = seen
    return found


def arguments(pid: int, proc: str = PROC) -> list[str]:
    """Return the program and the arguments of a process; none when it is gone.

    :raises OSError: as for :func:`process`.
    """
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except (FileNotFoundError, ProcessLookupError):
        return []


def variable(pid: int, name: str, proc: str = PROC) -> str | None:
    """Return a variable of the environment that a process was started with.

    Return None when the process has no such variable, is gone, or belongs to another user.
    """
    wanted = f"{name}=".encode()
    try:
        with open(f"{proc}/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    return next((entry[len(wanted) :].decode(errors="replace") for entry in entries if entry.startswith(wanted)), None)


def mount_points(proc: str = PROC) -> list[str]:
    """Return the mount points that this process sees, in the order in which they were mounted."""
    try:
        with open(f"{proc}/self/mountinfo", "rb") as file:
            lines = [line.split(b" ") for line in file.read().splitlines()]
    except OSError:
        return []
    points = [fields[4] for fields in lines if len(fields) > 4]
    for escape, byte in _OCTAL.items():
        points = [point.replace(escape, byte) for point in points]
    return [os.fsdecode(point) for point in points]


def boot_id(proc: str = PROC) -> str:
    """Return the id of this machine's present boot, "" when the kernel has none."""
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def pid_namespace(proc: str = PROC) -> str:
    """Return the name of the PID namespace of this process, "" when the kernel has none."""
    try:
        return os.readlink(f"{proc}/self/ns/pid")
    except OSError:
        return ""


def has_routed_ipv6(proc: str = PROC) -> bool:
    """Return True when an interface has an IPv6 address that is neither loopback nor link-local."""
    try:
        with open(f"{proc}/net/if_inet6", encoding="ascii") as lines:
            found = [ipaddress.IPv6Address(int(line.split()[0], 16)) for line in lines if line.strip()]
    except (OSError, ValueError):
        return False
    return any(not address.is_loopback and not address.is_link_local for address in found)
