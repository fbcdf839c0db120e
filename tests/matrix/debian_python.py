# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python newer than this machine's: that of Debian's testing release, in a folder of its own, with its own libc."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.molecule_image import mirror

RELEASE = "testing"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SECONDS = 300.0
PROGRAM = """#!/bin/sh
exec {loader} --argv0 "$0" --library-path {libraries} {binary} "$@"
"""
"""The loader of the system knows an older libc only. The name that was called tells Python its virtual environment."""


def unpacked(version: str, folder: Path) -> Path:
    """The program; it is made once and stays in *folder*.

    :param version: such as 3.14.
    :raises LookupError: it cannot be had here; the text says why.
    """
    kept = folder / f"debian-python{version}"
    program = kept / "usr" / "bin" / f"python{version}"
    if not program.exists():
        if not KEYRING.exists():
            raise LookupError(f"this machine has no {KEYRING.name} to check Debian's packages by")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            fresh = Path(name) / "root"
            for package in _downloaded(f"python{version}", Path(name)):
                _run(["dpkg-deb", "--extract", str(package), str(fresh)])
            _begin_by_own_loader(fresh, kept, program.name)
            fresh.rename(kept)
    return program


def _downloaded(package: str, folder: Path) -> Sequence[Path]:
    """Package and all that it needs; lists and cache of the system's apt stay as they are."""
    source, status = folder / "sources.list", folder / "status"
    source.write_text(f"deb [signed-by={KEYRING}] {mirror()} {RELEASE} main\n", "utf-8")
    status.touch()
    for name in ("lists", "archives"):
        (folder / name / "partial").mkdir(parents=True)
    settings = {
        "Dir::Etc::sourcelist": source,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": status,
        "Dir::Cache": folder,
        "Acquire::Languages": "none",
        "Acquire::Retries": "0",
        "Acquire::http::Timeout": "20",
        "APT::Sandbox::User": "",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "--quiet", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
    _run([*apt, "update"])
    _run([*apt, "install", "--yes", "--download-only", "--no-install-recommends", package])
    return sorted((folder / "archives").glob("*.deb"))


def _begin_by_own_loader(fresh: Path, kept: Path, name: str) -> None:
    binary = fresh / "usr" / "bin" / name
    loaders = sorted((fresh / "usr").glob("lib*/ld-linux*.so.*"))
    libraries = sorted((fresh / "usr" / "lib").glob("*-linux-gnu*"))
    if not (binary.exists() and loaders and libraries):
        raise LookupError(f"Debian's {name} has its files in other places than expected")
    binary = binary.rename(binary.with_name(f"{name}.elf"))
    places = {"loader": loaders[0], "libraries": libraries[0], "binary": binary}
    program = binary.with_name(name)
    places = {word: kept / path.relative_to(fresh) for word, path in places.items()}
    program.write_text(PROGRAM.format(**places), "utf-8")
    program.chmod(0o755)


def _run(words: Sequence[str]) -> None:
    """Run a program of Debian.

    :raises LookupError: it failed.
    """
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise LookupError(f"{words[0]}: {problem}") from problem
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith(("E:", "Err:", "dpkg"))]
        raise LookupError(f"{words[0]}: {said[0] if said else f'exit status {done.returncode}'}")
