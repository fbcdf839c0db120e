# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments with the programs of others, in ``.build/interop``, from the package index."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.support.ansible_run import BIN, ROOT

INSTALL_SECONDS = 900.0
PINS = Path(__file__).with_name("pins")


class CannotInstall(Exception):
    """The environment cannot be made here; the text says why."""


class Environment:
    """A virtual environment whose packages and exact versions are in ``pins/NAME.txt``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pins = PINS / f"{name}.txt"
        self.folder = ROOT / ".build" / "interop" / name

    def program(self, name: str) -> Path:
        """The path of one of its programs."""
        return self.folder / "bin" / name

    @property
    def python(self) -> Path:
        """The path of its interpreter."""
        return self.program("python")

    def install(self) -> float:
        """Install what is missing; the seconds that it took.

        :raises CannotInstall: with the installer's last lines.
        """
        began = time.monotonic()
        stamp = self.folder / "installed"
        wanted = hashlib.sha256(self.pins.read_bytes() + sys.version.encode()).hexdigest()
        if not stamp.exists() or stamp.read_text("utf-8") != wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self._uv("venv", "--quiet", "--python", sys.executable, str(self.folder))
            self._uv("pip", "install", "--quiet", "--python", str(self.python), "-r", str(self.pins))
            stamp.write_text(wanted, encoding="utf-8")
        return time.monotonic() - began

    def _uv(self, *words: str) -> None:
        program = shutil.which("uv", path=f"{BIN}:/usr/local/bin:/usr/bin")
        if program is None:
            raise CannotInstall("uv is missing: make setup installs it")
        try:
            done = subprocess.run(
                [program, *words], capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise CannotInstall(f"{self.name} was not installed within {INSTALL_SECONDS:g} s") from None
        if done.returncode:
            raise CannotInstall(f"{self.name} cannot be installed: {' '.join(done.stderr.split())[-300:]}")
