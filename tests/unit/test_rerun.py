# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test that fails tells a command that runs exactly this test again."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.support.ansible_run import ROOT
from tests.support.rerun import MOST, rerun_lines

HERE = "tests/unit/test_rerun.py"
WORDS = ['it\'s "quoted"', "a b; $HOME [x]"]


@pytest.mark.parametrize("words", WORDS)
def test_a_test_that_fails_on_demand(words):
    assert words != os.environ.get("FAIL_ON"), "asked for"


def test_the_command_of_a_failed_test_runs_this_test():
    environment = {**os.environ, "FAIL_ON": WORDS[1]}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE, "-k", "on_demand"]
    first = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    ).stdout
    (line,) = [line for line in first.splitlines() if line.startswith("run again: ")]
    again = shlex.split(line.removeprefix("run again: "))
    second = subprocess.run(
        [sys.executable, *again[1:], "-q", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    ).stdout
    assert "1 failed" in second and "passed" not in second


def test_each_test_is_named_once_and_few_of_many():
    assert rerun_lines(["a::b", "a::b"], {}) == ["run again: .venv/bin/python -m pytest a::b"]
    assert len(rerun_lines([f"a::b{number}" for number in range(99)], {})) == MOST


def test_what_the_cases_depend_on_is_in_the_command():
    assert rerun_lines(["a::b"], {"TEST_EFFORT": "10"}) == ["run again: TEST_EFFORT=10 .venv/bin/python -m pytest a::b"]
