# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/setup in a checkout that is not made ready yet."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NEEDED = ("tools/setup", "tools/step", "bindep.txt", "requirements.txt", "tests/demo/requirements.txt")
ALSO = ("tests/requirements.txt", "tests/constraints.txt")


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_an_environment_of_another_checkout_is_not_emptied_through_a_link(tmp_path: Path) -> None:
    here, programs, elsewhere = tmp_path / "here", tmp_path / "bin", tmp_path / "elsewhere" / ".venv"
    for name in (*NEEDED, *ALSO):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, here / name)
    programs.mkdir()
    program(programs / "dpkg-query", "echo installed")
    # It is new enough, and makes no environment: what setup does before that is all that this test is about.
    program(programs / "python3", '[ "$1" = -c ]')
    elsewhere.mkdir(parents=True)
    (elsewhere / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (here / ".venv").symlink_to(elsewhere)
    done = subprocess.run(
        [here / "tools" / "setup"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHON": str(programs / "python3")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (elsewhere / "pyvenv.cfg").exists(), done.stderr
    assert not (here / ".venv").is_symlink()
    assert f".venv was a link to {elsewhere}" in done.stderr
