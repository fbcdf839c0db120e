# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a check, unless it has succeeded before and nothing that it could have read has changed since.

    python -m tools.kept NAME STAGE COMMAND [ARGUMENT ...]

It compares a digest of everything that decides how a check ends: the words of the command; each file of STAGE, the copy
that holds all files of the checkout (for a check on virtual time without the folders UNREAD); what is installed in
``.venv`` and ``.build/neighbours``; the interpreter, the packages of the system and the collections that Ansible finds
in it; the environment; the day, since some checks compare dates. It keeps a success in ``.build/kept/NAME.json``, never
a failure or a check that was skipped. ``FORCE=1`` runs the check anyway.

Only for checks that end in the same way when they read the same: none that starts a server or asks the network. The
cases of a check that differ from run to run (RANDOM_PART) are run although a success of the whole is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tools.stage import listed

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".build" / "kept"
UNREAD = ("tests/unit", "tests/integration", "changelogs")
"""Folders that a check on virtual time never looks into; tests/support/own_reads.py makes a run fail that does."""

RANDOM_PART: Mapping[str, Sequence[str]] = {
    "chaos": (),
    "simulation": (
        sys.executable,
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "-m",
        "hypothesis",
        "tests/simulation",
    ),
}
"""The checks on virtual time, with what runs of each although a success is kept: Hypothesis tries other cases."""

INSTALLED = (ROOT / ".venv", ROOT / ".build" / "neighbours")
"""Folders in which packages are: not read, but looked through for other names, sizes and times."""

PROGRAMS = ("bash", "git", "python3", "shellcheck")
"""Programs of the system that checks start or report about."""

SETTINGS = (
    "/etc/ansible/ansible.cfg",
    "/etc/galaxy-importer/galaxy-importer.cfg",
    "/var/lib/dpkg/status",
    "~/.ansible.cfg",
)
"""Files outside of the checkout; the third one changes with each package of the system."""

SHARED = ("~/.ansible", "/usr/share/ansible", "/etc/ansible")
"""Where Ansible looks for collections, roles and plugins besides."""

SHARED_NAMES = ("collections/ansible_collections/*/*/*", "roles/*", "plugins/*/*")

PASSING = (
    "COLUMNS FORCE KEEP_GOING LINES MAKEFLAGS MAKELEVEL MAKEOVERRIDES MAKE_TERMERR MAKE_TERMOUT MFLAGS OLDPWD "
    "PWD SETUP_LOCKED SHLVL TERM _"
).split()
"""Variables that differ from call to call and decide nothing."""


def stamp(path: Path) -> str:
    """Size and time of a file, of a link as it is."""
    try:
        found = path.lstat()
    except OSError:
        return f"{path} is missing"
    return f"{path} {found.st_size} {found.st_mtime_ns} {found.st_mode}"


def stamps_below(folder: Path) -> Iterator[str]:
    """The stamps of all files below a folder but byte code, in an order of their own."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield f"{folder} is missing"
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from stamps_below(Path(entry.path))
        else:
            yield stamp(Path(entry.path))


def contents(stage: Path, unread: Sequence[str]) -> Iterator[str]:
    """Name, mode and content of each file of the copy but those in the folders *unread*."""
    without = tuple(f"{folder}/" for folder in unread)
    for name in listed(stage):
        if str(name).startswith(without):
            continue
        path = stage / name
        yield f"{name} {path.lstat().st_mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def machine() -> Iterator[str]:
    """What decides outside of the checkout."""
    yield f"{sys.version} {stamp(Path(sys.executable).resolve())}"
    for name in PROGRAMS:
        found = shutil.which(name)
        yield f"{name} {stamp(Path(found).resolve()) if found else 'is missing'}"
    yield from (stamp(Path(name).expanduser()) for name in SETTINGS)
    for folder in (Path(name).expanduser() for name in SHARED):
        for pattern in SHARED_NAMES:
            yield from map(stamp, sorted(folder.glob(pattern)))


def digest(
    words: Sequence[str],
    stage: Path,
    installed: Iterable[Path],
    variables: Mapping[str, str],
    day: str,
    unread: Sequence[str] = (),
) -> str:
    """One word for everything that a check could have read."""
    found = hashlib.sha256()
    settings = (f"{name}={value}" for name, value in sorted(variables.items()) if name not in PASSING)
    parts = (words, contents(stage, unread), *map(stamps_below, installed), machine(), settings, (day,))
    for part in parts:
        for text in part:
            found.update(text.encode("utf-8", "surrogateescape") + b"\0")
        found.update(b"\0")
    return found.hexdigest()


class Keeper:
    """The success of one check.

    :param file: where it is kept.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def found(self, wanted: str) -> str:
        """What was said at the end of the run with this digest, and when; nothing when there was none."""
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            if kept["digest"] == wanted:
                return f"unchanged since {kept['time']}: {kept['said']}"
        except (OSError, ValueError, TypeError, KeyError):
            pass
        return ""

    def forget(self) -> None:
        """Nothing is kept from here on."""
        self._file.unlink(missing_ok=True)

    def keep(self, found: str, said: str, time: str) -> None:
        """Keep a success."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        new = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        new.write_text(json.dumps({"digest": found, "said": said, "time": time}), "utf-8")
        new.replace(self._file)


def run(words: Sequence[str]) -> tuple[int, str]:
    """Run the check, pass on what it says; its exit status and its last line that says something."""
    last = ""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode, last


def random_part(words: Sequence[str], known: str, keeper: Keeper) -> int:
    """Say what is *known* of a check after a run of its random cases; when these fail, the success is forgotten."""
    if not words:
        print(known)
        return 0
    status, said = run(words)
    if status == 0:
        print(f"{known}; its random cases anew: {said}")
    else:
        keeper.forget()
    return status


def main(name: str, stage: Path, words: Sequence[str]) -> int:
    """The exit status of the check, 0 when it need not run."""

    unread = UNREAD if name in RANDOM_PART else ()

    def now() -> str:
        return digest(words, stage, INSTALLED, os.environ, f"{datetime.now():%Y-%m-%d}", unread)

    keeper, before = Keeper(KEPT / f"{name}.json"), now()
    known = keeper.found(before)
    if known and not os.environ.get("FORCE"):
        return random_part(RANDOM_PART.get(name, ()), known, keeper)
    keeper.forget()
    status, said = run(words)
    # A file that was changed meanwhile may have been read as it was before, or afterwards.
    if status == 0 and not said.startswith("skipped:") and now() == before:
        keeper.keep(before, said, f"{datetime.now():%H:%M}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], ROOT / sys.argv[2], sys.argv[3:]))
