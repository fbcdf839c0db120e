# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cells of the matrix, and the virtual environment of each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.matrix import debian_python
from tools.packages import as_pip

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".build" / "matrix"
REQUIREMENTS = ROOT / "requirements.txt"
LOOP = ("ansible-runner>=2.4", "psutil>=5.9")
"""What the loop of the roles needs besides."""
UV = Path(sys.executable).parent / "uv"
MAKE_SECONDS = 600.0
INSTALL_SECONDS = 900.0
NETWORK = ("error sending request", "Failed to fetch", "failed to lookup address", "dns error", "timed out")
"""What uv says when it does not reach the index."""


class CannotRun(Exception):
    """A cell cannot be had on this machine; the text says why."""


@dataclass(frozen=True)
class Cell:
    """One set of versions.

    :ivar core: a requirement for ansible-core.
    :ivar oldest: install the lower bounds of requirements.txt, and of *core*; otherwise the newest releases.
    :ivar needs: the Python that *core* needs, where that is newer than *python*: nothing to try then.
    :ivar newer_zookeeper: with that of :mod:`tests.matrix.newer_zookeeper`, not Debian's.
    :ivar newest_kazoo: with the newest kazoo of the index, also a pre-release and one beyond requirements.txt.
    :ivar named_by: an environment variable that names the Python; without it there is nothing to try, because that
        Python comes in container images only.
    """

    name: str
    python: str
    core: str
    oldest: bool = False
    needs: str = ""
    newer_zookeeper: bool = False
    newest_kazoo: bool = False
    named_by: str = ""


AAP_PYTHON = "STACKCI_AAP_PYTHON"
"""Names the Python of an execution environment of Ansible Automation Platform: RHEL's python3.12, before 2.6 also its
python3.11. The public images ``ubi9/python-312`` and ``ubi9/python-311`` have them, no package index and no Debian."""

CELLS = (
    Cell("oldest", "3.11", "ansible-core>=2.16.0", oldest=True),
    Cell("2.16-py3.11", "3.11", "ansible-core==2.16.*"),
    Cell("2.16-py3.12", "3.12", "ansible-core==2.16.*"),
    Cell("2.17-py3.11", "3.11", "ansible-core==2.17.*"),
    Cell("2.17-py3.12", "3.12", "ansible-core==2.17.*"),
    Cell("2.18-py3.11", "3.11", "ansible-core==2.18.*"),
    Cell("2.18-py3.12", "3.12", "ansible-core==2.18.*"),
    Cell("2.18-py3.13", "3.13", "ansible-core==2.18.*"),
    Cell("2.19-py3.11", "3.11", "ansible-core==2.19.*"),
    Cell("2.20-py3.11", "3.11", "ansible-core==2.20.*", needs="3.12"),
    Cell("2.21-py3.11", "3.11", "ansible-core==2.21.*", needs="3.12"),
    Cell("2.19-py3.12", "3.12", "ansible-core==2.19.*"),
    Cell("2.19-py3.13", "3.13", "ansible-core==2.19.*"),
    Cell("2.20-py3.12", "3.12", "ansible-core==2.20.*"),
    Cell("2.20-py3.13", "3.13", "ansible-core==2.20.*"),
    Cell("2.20-py3.14", "3.14", "ansible-core==2.20.*"),
    Cell("2.21-py3.12", "3.12", "ansible-core==2.21.*"),
    Cell("2.21-py3.14", "3.14", "ansible-core==2.21.*"),
    Cell("newest", "3.13", "ansible-core"),
    Cell("devel-py3.13", "3.13", "ansible-core>=2.22.0.dev0"),
    Cell("devel-py3.14", "3.14", "ansible-core>=2.22.0.dev0"),
    Cell("devel-py3.15", "3.15", "ansible-core>=2.22.0.dev0"),
    Cell("aap", "3.12", "ansible-core==2.16.*", named_by=AAP_PYTHON),
    Cell("zookeeper", "3.11", "ansible-core==2.19.*", newer_zookeeper=True),
    Cell("kazoo", "3.11", "ansible-core==2.19.*", newest_kazoo=True),
)
QUICK = ("oldest", "newest")
"""What ``make test`` tries: all other lanes have an ansible-core between them."""


SANITY = ("2.16-py3.11", "2.17-py3.11", "2.18-py3.11", "2.20-py3.12", "newest", "devel-py3.13")
"""The cells in whose ansible-core ``make test-sanity`` runs the sanity tests; ``make sanity`` has 2.19."""


_UNPACKING = threading.Lock()
"""Cells that run side by side may have one Python."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment of a cell."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.folder / "bin"

    def versions(self) -> str:
        """The versions that tell cells apart, that of the Python as it is."""
        python = re.search(r"^version_info = (\S+)", (self.folder / "pyvenv.cfg").read_text("utf-8"), re.MULTILINE)
        shown = uv("pip", "list", "--python", str(self.bin / "python"), "--format", "freeze", seconds=MAKE_SECONDS)
        found = dict(line.split("==", 1) for line in shown.stdout.splitlines() if "==" in line)
        told = ", ".join(f"{name} {found[name]}" for name in ("ansible-core", "openstacksdk", "kazoo"))
        return f"Python {python[1] if python else '?'}, {told}"


def make(cell: Cell) -> Environment:
    """Make the environment of a cell anew.

    :raises CannotRun: Python or the packages cannot be had here.
    :raises RuntimeError: the packages do not go together.
    """
    if cell.needs:
        raise CannotRun(f"{cell.core.split('=')[0]} {cell.core.split('==')[1][:-2]} needs Python {cell.needs}")
    if cell.named_by and not os.environ.get(cell.named_by):
        raise CannotRun(
            f"RHEL's Python is in no package index: name one in {cell.named_by}, as that of ubi9/python-312"
        )
    found = Environment(ENVIRONMENTS / cell.name)
    python, without = os.environ.get(cell.named_by) if cell.named_by else interpreter(cell.python), ""
    if python is None:
        try:
            with _UNPACKING:
                python = str(debian_python.unpacked(cell.python, ENVIRONMENTS))
        except LookupError as problem:
            # uv tries to download it then.
            python, without = cell.python, f"Debian's is not to be had ({problem}), and "
    made = uv("venv", "--clear", "--python", python, str(found.folder), seconds=MAKE_SECONDS)
    if made.returncode:
        raise CannotRun(f"no Python {cell.python} here, {without}uv cannot make one: {last_line(made.stderr)}")
    how = ["--resolution", "lowest-direct"] if cell.oldest else []
    words = ("--python", str(found.bin / "python"), *how, "--requirement", str(REQUIREMENTS), *LOOP, cell.core)
    options, environment = as_pip()
    installed = uv("pip", "install", *options, *words, seconds=INSTALL_SECONDS, environment=environment)
    if installed.returncode:
        if any(words in installed.stderr for words in NETWORK):
            raise CannotRun(f"the package index does not answer: {last_line(installed.stderr)}")
        if ".dev" in cell.core and "No solution found" in installed.stderr:
            raise CannotRun(f"the package index has no {cell.core}")
        raise RuntimeError(f"uv cannot install {cell.core} and requirements.txt:\n{installed.stderr}")
    if cell.newest_kazoo:
        words = ("--python", str(found.bin / "python"), "--upgrade", "--prerelease", "allow", "kazoo")
        newest = uv("pip", "install", *options, *words, seconds=INSTALL_SECONDS, environment=environment)
        if newest.returncode:
            raise CannotRun(f"the newest kazoo cannot be had: {last_line(newest.stderr)}")
    return found


def interpreter(version: str) -> str | None:
    """A Python of this version that works: on the path, of the system, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    theirs = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for candidate in (f"/usr/bin/python{version}", shutil.which(f"python{version}"), *map(str, theirs)):
        if candidate is not None and Path(candidate).exists() and _is(candidate, version):
            return candidate
    return None


def _is(candidate: str, version: str) -> bool:
    # pyenv has a program for each version that it knows of, also for those that are not in use.
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    said = subprocess.run([candidate, "-c", question], capture_output=True, text=True, timeout=30, check=False)
    return said.stdout.strip() == version


def uv(*words: str, seconds: float, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run uv; a time-out is a failure like others."""
    if not UV.exists():
        raise CannotRun("there is no uv: make setup could not install it")
    try:
        return subprocess.run(
            [str(UV), *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"uv timed out after {seconds:g} s")


def last_line(text: str) -> str:
    """What a program said last, in one line."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
