# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interpreter that has imported everything runs a program as the real one does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ansible_run import ROOT, environment
from tests.support.warm_python import WarmPython

PROGRAM = """
import os, sys
print(sys.argv[1:], __name__, os.getcwd(), os.environ["MINE"], os.environ.get("THEIRS"))
"""


@pytest.fixture(scope="module")
def warm():
    with WarmPython(["json.tool"], environment(ROOT, THEIRS="of the server")) as made:
        yield made


def ran(python: Path | str, folder: Path, text: str, *words: str) -> tuple[int, str, str]:
    """Exit code, output, and the last line of the errors."""
    given = environment(folder, MINE="of the caller")
    done = subprocess.run(
        [str(python), *words],
        cwd=folder,
        env=given,
        input=text,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return done.returncode, done.stdout, "".join(done.stderr.splitlines()[-1:])


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "sys.exit('what is wrong')", "1 / 0"])
def test_a_program_is_run_as_by_the_real_one(warm, tmp_path, end):
    text = PROGRAM + end
    assert ran(warm.path, tmp_path, text) == ran(sys.executable, tmp_path, text)
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    assert ran(warm.path, tmp_path, "", str(file), "word") == ran(sys.executable, tmp_path, "", str(file), "word")


def test_a_program_that_is_killed_has_failed(warm, tmp_path):
    assert ran(warm.path, tmp_path, "import os; os.kill(os.getpid(), 9)")[0] == 70
