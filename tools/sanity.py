# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ``ansible-test sanity`` on the staged copy, in virtual environments that ansible-test makes itself.

ansible-test passes only ``HOME`` and ``PATH`` on to pip and fetches a script that installs pip from a host that many
networks do not reach. So it gets a home of its own below ``.build`` with a script of ours, and a pip that has uv do it.

    python -m tools.sanity STAGE [--environment FOLDER] [OPTION OF ANSIBLE-TEST ...]

FOLDER is a virtual environment with another ansible-core than that of the Python that runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tools.packages import PIP, as_pip

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".build" / "sanity-home"
PRIMED = ("action-plugin-docs", "import", "pylint")
"""Tests whose virtual environments, and ansible-test's own, are made before all others. The first one has that of all
tests without requirements; in those of the other two an interpreter works for a minute (``tools/sanity_start.py``)."""

INSTALLED = ("plugins/", "roles/")
"""Folders whose Python files are part of the tarball."""


def pinned_pip(environment: Path) -> str:
    """The version of pip that the ansible-test of a virtual environment asks for."""
    (source,) = environment.glob("lib/python3.*/site-packages/ansible_test/_internal/python_requirements.py")
    found = re.search(r"\bpip='([0-9.]+)'", source.read_text(encoding="utf-8"))
    if not found:
        sys.exit("This ansible-test does not say which pip it wants; tools/sanity.py has to learn how to find out.")
    return found[1]


def python_of(environment: Path) -> str:
    """The version of a virtual environment's Python, such as ``3.11``."""
    (folder,) = environment.glob("lib/python3.*")
    return folder.name.removeprefix("python")


def make_home(environment: Path) -> None:
    """Writes the home folder for the ansible-test of a virtual environment."""
    cache = HOME / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    version = pinned_pip(environment)
    shutil.copyfile(ROOT / "tools" / "bootstrap_pip.py", cache / f"get_pip_{version.replace('.', '_')}.py")
    shutil.copyfile(ROOT / "tools" / "sanity_pip.py", HOME / "sanity_pip.py")
    how = HOME / "sanity_pip.json"
    how.touch(mode=0o600)  # an index may be named with a password
    how.write_text(json.dumps(installing(python_of(environment))), encoding="utf-8")


def installing(python: str) -> dict[str, Any]:
    """For ``tools/sanity_pip.py``: how uv and pip are started, for an environment with this version of Python."""
    options, variables = as_pip()
    if tuple(map(int, python.split("."))) >= (3, 12):
        # Otherwise what is imported is compiled then, which is a part of what is there. Since 3.12 Python shows
        # warnings when it compiles docutils, which ansible-test takes for findings.
        options = [*options, "--compile-bytecode"]
    return {
        "uv": [sys.executable, "-m", "uv", "pip", "install", *options],
        "pip": list(PIP),
        "variables": {
            name: value
            for name, value in variables.items()
            if name == "HOME" or name.startswith(("PIP_", "SSL_", "UV_", "XDG_")) or name.lower().endswith("_proxy")
        },
    }


def begin_with(environments: Path) -> None:
    """Let the interpreters of ansible-test's virtual environments begin with ``tools/sanity_start.py``."""
    for packages in environments.glob("*/*/*/lib/python3*/site-packages"):
        shutil.copyfile(ROOT / "tools" / "sanity_start.py", packages / "sanity_start.py")
        (packages / "sanity_start.pth").write_text("import sanity_start\n", encoding="utf-8")


class Part:
    """Some of the sanity tests, run by an ansible-test of their own. What it says is printed line by line."""

    def __init__(self, environment: Path, stage: Path, options: list[str]) -> None:
        words = ["sanity", "--venv", "--python", python_of(environment), "--color", "no", *options]
        programs = environment / "bin"
        self._process = subprocess.Popen(
            [str(programs / "ansible-test"), *words],
            cwd=stage,
            env={**os.environ, "HOME": str(HOME), "PATH": f"{programs}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def end(self) -> tuple[int, list[str]]:
        """Wait for it; returns its exit status and the lines that it said."""
        self._reader.join()
        return self._process.wait(), self._lines

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            print(line, end="", flush=True)
            self._lines.append(line)


def parts(extra: list[str]) -> list[list[str]]:
    """The options of ansible-test for each of the parts that run side by side.

    pylint takes as long as all others together, and for tests and tools twice as long again: without *extra* it gets
    what is installed only. Each part makes the virtual environments of its tests; the two have none in common but
    those of :data:`PRIMED`.
    """
    return [extra] if extra else [["--test", "pylint", *INSTALLED], ["--skip-test", "pylint"]]


def main(stage: Path, environment: Path, extra: list[str]) -> int:
    """Runs the tests, says at the end what was found, and returns the first exit status of ansible-test that is not 0.

    :param environment: virtual environment with ansible-core.
    :param extra: options of ansible-test.
    """
    make_home(environment)
    # Made beforehand, as two that make the same virtual environment at once would spoil it.
    status, _said = Part(environment, stage, ["--prime-venvs", *(f"--test={name}" for name in PRIMED)]).end()
    if status:
        return status
    begin_with(HOME / ".ansible" / "test" / "venv")
    ended = [part.end() for part in [Part(environment, stage, options) for options in parts(extra)]]
    lines = [line for _status, said in ended for line in said]
    tests = [line for line in lines if line.startswith("Running sanity test")]
    errors = [line for line in lines if line.startswith("ERROR:")]
    if errors:
        print("What was found:", "".join(errors), sep="\n", end="")
    print(f"{len(tests)} sanity tests, {len(errors)} findings")
    return next((status for status, _said in ended if status), 0)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(prog="python -m tools.sanity")
    reader.add_argument("stage", type=Path)
    reader.add_argument("--environment", type=Path, default=Path(sys.prefix))
    known, options_of_ansible_test = reader.parse_known_args()
    sys.exit(main(ROOT / known.stage, known.environment.absolute(), options_of_ansible_test))
