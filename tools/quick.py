# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at what has changed since the last commit (or in it, when nothing has): style, types, its unit tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
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


def unit_tests(changed: Iterable[str], there: Iterable[str]) -> list[str]:
    """The unit tests of what has changed: themselves, or those in the mirrored place.

    :param there: all unit tests.
    """
    known, found = set(there), set()
    for name in changed:
        path = PurePosixPath(name)
        mirrored = f"tests/unit/{path.parent}/test_{path.name}"
        found |= {name, mirrored} & known
        if path.parts[0] == "plugins" and path.suffix == ".py":
            found |= {*HOUSE} & known
    return sorted(found)


def main() -> int:
    """Run the checks; 0 when all went well."""
    changed = changed_files()
    python = [name for name in changed if name.endswith(".py")]
    tests = unit_tests(changed, git("ls-files", "--cached", "--others", "--exclude-standard", "tests/unit"))
    steps = []
    if python:
        steps += [("ruff", ["ruff", "check", *python]), ("format", ["ruff", "format", "--check", *python])]
        steps.append(("types", ["mypy"]))
    if tests:
        steps.append(("unit", [sys.executable, "-m", "pytest", "-q", *tests]))
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
