# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at what has changed since the last commit (or in it, when nothing has): style, types, its tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LANES = ("tests/unit", "tests/simulation")
HELD = ROOT / "tests/unit/held_elsewhere.txt"
HOUSE = ("tests/unit/test_floors.py", "tests/unit/test_house.py")
"""Rules about all files: looked at whenever a file below plugins/ has changed."""


def git(*arguments: str) -> list[str]:
    """The lines that git answers."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


def changed_files() -> list[str]:
    """Paths of what has changed and is there, relative to the root."""
    names = {*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")}
    if not names:
        names = {*git("diff", "--name-only", "HEAD~1", "HEAD")}
    return sorted(name for name in names if (ROOT / name).is_file())


def held_elsewhere(lines: Iterable[str]) -> dict[str, set[str]]:
    """File → the tests that hold it, of those that have no unit tests of their own."""
    parts = [line.split() for line in lines if line and not line.startswith("#")]
    return {f"plugins/module_utils/{file}": {f"tests/{test}" for test in tests} for file, *tests in parts}


def quick_tests(changed: Iterable[str], there: Iterable[str], held: Mapping[str, set[str]]) -> list[str]:
    """The tests of what has changed: themselves, those in the mirrored place, or those that hold it.

    :param there: all unit tests and simulations.
    :param held: see :func:`held_elsewhere`.
    """
    known, found = set(there), set()
    for name in changed:
        path = PurePosixPath(name)
        mirrored = f"tests/unit/{path.parent}/test_{path.name}"
        found |= {name, mirrored, *held.get(name, ())} & known
        if path.parts[0] == "plugins" and path.suffix == ".py":
            found |= {*HOUSE} & known
    return sorted(found)


def main() -> int:
    """Run the checks; 0 when all went well."""
    changed = changed_files()
    python = [name for name in changed if name.endswith(".py")]
    there = git("ls-files", "--cached", "--others", "--exclude-standard", *LANES)
    tests = quick_tests(changed, there, held_elsewhere(HELD.read_text(encoding="utf-8").splitlines()))
    steps = []
    if python:
        steps += [("ruff", ["ruff", "check", *python]), ("format", ["ruff", "format", "--check", *python])]
        steps.append(("types", ["mypy"]))
    if tests:
        steps.append(("tests", [sys.executable, "-m", "pytest", "-q", *tests]))
    yaml = [name for name in changed if name.endswith((".yml", ".yaml"))]
    if yaml:
        steps.append(("yamllint", ["yamllint", "--strict", *yaml]))
    if not steps:
        print("nothing that is looked at has changed")
    environment = {**os.environ, "KEEP_GOING": "1"}
    for name, command in steps:
        subprocess.run(["tools/step", name, *command], cwd=ROOT, env=environment, check=False)
    names = [name for name, _command in steps]
    return subprocess.run(["tools/step", "--summary", *names], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
