# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers of pytest that are forked have what one process has imported, and are otherwise as those that are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support.ansible_run import ROOT
from tests.support.fixtures_zookeeper import eventually

IMPORTED = """
import os
with open("imported", "a") as file:
    print(os.getpid(), file=file)
"""
TESTS = """
import os, sys, imported, pytest
from hypothesis import given, strategies
@given(strategies.integers())
def test_property(value):
    assert value == value
@given(strategies.integers())
def test_other_property(value):
    assert value == value
@pytest.mark.parametrize("value", [1, 2])
def test_first(value, tmp_path):
    assert open("imported").read().split() == [str(os.getppid())]
    assert sys.executable == os.environ["REAL"]
def test_fails():
    words = ["a", "b"]
    assert words == ["a", "c"]
"""
ENDS = """
import os
def test_{0}_ends():
    os.kill(os.getpid(), 9)
def test_{0}_is_run():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n", encoding="utf-8")
    return tmp_path


def started(folder, *words: str) -> subprocess.Popen[str]:
    given = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "tests.support.warm_workers", "-n", "2", *words, "tests"],
        cwd=folder,
        env={**given, "PYTHONPATH": f"{ROOT}:{folder}", "REAL": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_tests_are_imported_once_and_run_by_each_worker(folder):
    (folder / "imported.py").write_text(IMPORTED, encoding="utf-8")
    (folder / "tests" / "test_some.py").write_text(TESTS, encoding="utf-8")
    said = started(folder).communicate(timeout=90)[0]
    assert "assert ['a', 'b'] == ['a', 'c']" in said
    assert "1 failed, 4 passed in" in said


def test_a_worker_that_is_killed_is_replaced(folder):
    for name in ("one", "two"):
        (folder / "tests" / f"test_{name}.py").write_text(ENDS.format(name), encoding="utf-8")
    said = started(folder).communicate(timeout=90)[0]
    assert "2 failed, 2 passed in" in said


@pytest.mark.parametrize(
    ("line", "told", "outcome"),
    [
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'", "1 passed, 1 error in"),
        ("pytest.skip('not here', allow_module_level=True)", "1 skipped", "1 passed, 1 skipped in"),
    ],
)
def test_what_is_imported_in_part_is_told_by_the_workers(folder, line, told, outcome):
    for name, first in (("wrong", line), ("right", "")):
        text = f"import pytest\ndef test_{name}():\n    pass\n{first}\n"
        (folder / "tests" / f"test_{name}.py").write_text(text, encoding="utf-8")
    said = started(folder, "--continue-on-collection-errors").communicate(timeout=90)[0]
    assert told in said
    assert outcome in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_who_has_started_them(folder, number):
    text = "import os, time\ndef test_waits():\n    open(f'pid-{os.getpid()}', 'w')\n    time.sleep(200)\n"
    for name in ("one", "two"):
        (folder / "tests" / f"test_{name}.py").write_text(text, encoding="utf-8")
    controlling = started(folder)
    eventually(lambda: len(list(folder.glob("pid-*"))) == 2, 90)
    controlling.send_signal(number)
    controlling.communicate(timeout=90)
    workers = [path.name.removeprefix("pid-") for path in folder.glob("pid-*")]
    eventually(lambda: not [pid for pid in workers if os.path.exists(f"/proc/{pid}")], 90)
