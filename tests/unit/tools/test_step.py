# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/step: what became of the steps of a run is told at its end, and skipped is neither good nor bad."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

STEP = Path(__file__).resolve().parents[3] / "tools" / "step"


@pytest.fixture
def step(tmp_path):
    """Calls a copy of it, which works in a folder of its own."""
    (tmp_path / "tools").mkdir()
    program = shutil.copy(STEP, tmp_path / "tools" / "step")

    def call(*words, **more):
        return subprocess.run(
            [program, *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=60, check=False
        )

    return call


def test_all_that_went_well(step):
    assert step("one", "echo", "fine").returncode == 0
    told = step("--summary", "one")
    assert (told.returncode, told.stdout) == (0, "All 1 steps went well.\n")


def test_a_skipped_step_is_counted_as_such_with_its_reason(step):
    step("one", "true")
    done = step("two", "sh", "-c", "echo much; echo 'skipped: there is no podman'")
    assert done.returncode == 0
    assert done.stdout.split()[:2] == ["two", "skipped"]
    told = step("--summary", "one", "two")
    assert told.returncode == 0
    assert told.stdout == "two            skipped: there is no podman\n1 of 2 steps went well, 1 skipped.\n"


def test_a_step_that_fails_is_not_skipped_whatever_it_says(step):
    done = step("one", "sh", "-c", "echo 'skipped: not really'; exit 3", KEEP_GOING="1")
    assert done.stdout.split()[:2] == ["one", "FAILED"]
    told = step("--summary", "one")
    assert told.returncode == 1
    assert "1 of 1 steps did not go well." in told.stdout


def test_a_word_about_skipping_inside_of_the_output_does_not_count(step):
    step("one", "sh", "-c", "echo 'skipped: one test'; echo '5 passed'")
    assert step("--summary", "one").stdout == "All 1 steps went well.\n"
