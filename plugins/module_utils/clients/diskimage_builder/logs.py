# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of builds: reading them while they grow, writing to them, listing and removing them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable
from typing import BinaryIO

from ...model.bounded_text import printable
from ...model.errors import ImageFileError
from .folders import closed

LONGEST_LINE = 160
"""Maximum number of characters of a line that are shown."""
_CHUNK = 1 << 20
_STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \| ?")
_TRACE = re.compile(r"^\++ ")
_TRAP = re.compile(r"^\++ \S+ +: +trap_cleanup$")
"""The line of the trace with which the exit trap of diskimage-builder begins; what follows is its clean-up."""
_NOISE = re.compile(
    r"^(DEBUG |INFO diskimage_builder\.block|Unmount /|\*\*\* /\S+ is not a directory$"
    r"|dib-run-parts (Sourcing .*|-+.*)?$|/\S+'?$)"
)
"""Lines without information for the operator, and lines of the clean-up, which follow the lines that matter."""
_CONSEQUENCE = re.compile(
    r"(Exiting with failure status due to previous errors|Error is not recoverable: exiting now"
    r"|Rollback complete, exiting)$"
)
"""Lines that only say that an earlier step failed."""
CAUSE = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Cannot allocate memory|Out of memory"
    r"|Input/output error|Structure needs cleaning|Too many open files"
    r"|Could not resolve host|Temporary failure (in name resolution|resolving)|Name or service not known",
    re.IGNORECASE,
)
"""Lines that tell more than the last line of a log: later lines report only consequences."""
DECISIVE = re.compile(
    r": (command )?not found$|^(/usr/bin/)?env: \W?[\w.+-]+\W?: No such file or directory$"
    r"|^[A-Za-z_][\w.]*(Exception|Error)(: .*)?$|^Exception in thread |^panic: |\bpanicked at "
    r"|^dpkg: error processing |^E: Unable to |^ +- nothing provides |^npm (ERR!|error) (?!code )\S"
    r"|:\d+: (fatal )?error: |: line \d+: +\d+ (Killed|Segmentation fault|Aborted)\b"
)
"""Lines that tell more than the last line of a step: a command that is not installed, the exception or the end of a
program, and what package managers and compilers say before they sum up."""
FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
"""Lines that say that there is no free space."""
UNWRITABLE = re.compile(r"Read-only file system|Input/output error|Structure needs cleaning", re.IGNORECASE)
"""Lines of commands that write into an image after the kernel could not write the file behind its loop device."""
_LONGEST_SEARCH = 1 << 28
_STEPS = (
    (re.compile(r"^dib-run-parts (?:\S+ )*Running (?:\S*/)?([^/\s]+)\.d/([^/\s]+)$"), None),
    (re.compile(r"^Running hooks from (?:\S*/)?([^/\s]+)\.d$"), None),
    (re.compile(r"^Calculating image size"), "sizing"),
    (re.compile(r"^Converting image using"), "converting"),
    (re.compile(r"^Image file \S+ created"), "converting"),
    (re.compile(r"^converting \S+ into "), "converting"),
    (re.compile(r"^Build completed successfully"), "finished"),
)


class LogTail:
    """A reader of the lines that were added to a log since the last look.

    :ivar phase: the present step of diskimage-builder, such as ``install/50-packages``; empty before its first step.
    :ivar last_line: the last line with information for the operator.
    :param secrets: texts that are not shown.
    """

    def __init__(self, path: str, secrets: Iterable[str] = ()) -> None:
        self.phase = ""
        self.last_line = ""
        self._path = path
        self._place = 0
        self._rest = b""
        self._clearing = False
        self._secrets = _longest_first(secrets)

    def skip(self) -> None:
        """Skip the present content of the log."""
        with contextlib.suppress(OSError):
            self._place = os.stat(self._path).st_size

    def read(self) -> bool:
        """Read the new content, at most 4 MiB; return True when there was any."""
        try:
            with open(self._path, "rb") as file:
                end = file.seek(0, os.SEEK_END)
                if end - self._place > 4 * _CHUNK:  # the log grows faster than it is read
                    self._place, self._rest = end - _CHUNK, b""
                file.seek(self._place)
                data = file.read(4 * _CHUNK)
        except OSError:
            return False
        if not data:
            return False
        self._place += len(data)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_CHUNK:]
        for line in lines:
            self._take(line.decode(errors="replace"))
        return True

    def _take(self, line: str) -> None:
        text = _STAMP.sub("", line.rstrip())
        self._clearing = self._clearing or bool(_TRAP.match(text))
        if (
            self._clearing
            or not text
            or _TRACE.match(text)
            or _NOISE.match(text)
            or (self.last_line and _CONSEQUENCE.search(text))
        ):
            return
        self.phase = _step(text) or self.phase
        self.last_line = _for_people(text, self._secrets)


def find_cause(path: str, secrets: Iterable[str] = ()) -> str:
    """Return, for the operator, the line that tells why a build failed; "" without one.

    This is the first line that names a problem of the machine or its network, because diskimage-builder continues for a
    while after it. Otherwise it is the first decisive line of the last step, because a step that fails ends the build.
    Lines of the clean-up after the failure do not count.

    :param secrets: texts that are not shown.
    """
    decisive = ""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        while file.tell() < _LONGEST_SEARCH and (line := file.readline(_CHUNK)):
            text = _STAMP.sub("", line.decode(errors="replace").rstrip())
            if _TRAP.match(text):
                break
            if _TRACE.match(text):
                continue
            if CAUSE.search(text):
                return _for_people(text, _longest_first(secrets))
            if _step(text):
                decisive = ""
            elif not decisive and not _NOISE.match(text) and DECISIVE.search(text):
                decisive = text
    return _for_people(decisive, _longest_first(secrets))


def is_cause(text: str) -> bool:
    """Return True for a line that :func:`find_cause` could return."""
    return bool(CAUSE.search(text) or DECISIVE.search(text))


def _step(text: str) -> str:
    """Return the step of diskimage-builder that a line begins; "" if it begins none."""
    for pattern, name in _STEPS:
        found = pattern.match(text)
        if found:
            return name or "/".join(found.groups())
    return ""


def _longest_first(secrets: Iterable[str]) -> list[str]:
    return sorted({secret for secret in secrets if len(secret) > 3}, key=len, reverse=True)


def _for_people(text: str, secrets: Iterable[str]) -> str:
    """Return *text* without secrets and control characters; a long one loses its middle, as its end tells most."""
    for secret in secrets:
        text = text.replace(secret, "***")
    text = printable(text)
    if len(text) <= LONGEST_LINE:
        return text
    end = LONGEST_LINE // 2
    return f"{text[: LONGEST_LINE - end - 1]}…{text[-end:]}"


def open_log(path: str) -> BinaryIO:
    """Open a log for appending; create it when it is missing.

    :raises OSError: the log cannot be opened, or another user has put a file or a link in its place.
    """
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
        return os.fdopen(fd, "ab+")
    os.close(fd)
    raise OSError(errno.EPERM, "the builder did not create this file", path)


def append_line(path: str, text: str) -> None:
    """Append a line to a log. Does nothing when the log cannot be written."""
    with contextlib.suppress(OSError), open_log(path) as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(text.encode(errors="replace") + b"\n")


def make_folder(path: str, option: str) -> None:
    """Make a folder, unless it exists.

    :param option: the option that names the folder, for the message.
    :raises ImageFileError: the folder cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as problem:
        raise ImageFileError(f"{option} {path}: cannot be created: {problem.strerror}") from problem


def list_logs(folder: str) -> list[tuple[str, float]]:
    """Return the name and UNIX time of the last change of each file in a folder; none when it cannot be read."""
    logs: list[tuple[str, float]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    logs.append((entry.name, entry.stat(follow_symlinks=False).st_mtime))
    return logs


def remove_logs(folder: str, names: Iterable[str]) -> None:
    """Remove logs, and ignore those that do not exist or cannot be removed."""
    with contextlib.suppress(OSError), closed(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=fd)
