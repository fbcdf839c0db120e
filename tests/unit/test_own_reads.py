# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/support/own_reads.py: a lane on virtual time that reads what its kept success does not depend on fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.own_reads import ForeignRead, only_own_reads

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(Path(__file__).read_bytes, id="a file"),
        pytest.param((ROOT / "tests" / "integration" / "no.py").read_bytes, id="a file that is not there"),
        pytest.param(lambda: os.listdir(HERE), id="a folder"),
        pytest.param(lambda: list(ROOT.glob("changelogs/*")), id="a pattern"),
        pytest.param(lambda: subprocess.run([sys.executable, "-V"], check=True, timeout=60), id="a program"),
    ],
)
def test_it_fails_and_says_what_to_do(look):
    with only_own_reads(), pytest.raises(ForeignRead, match=r"tools/kept\.py"):
        look()


def test_all_else_may_be_read_and_afterwards_these_as_well():
    with only_own_reads():
        with only_own_reads():
            (ROOT / "tests" / "support" / "own_reads.py").read_text("utf-8")
        with pytest.raises(ForeignRead):
            Path(__file__).read_text("utf-8")
    assert Path(__file__).read_text("utf-8")
    assert list(ROOT.glob("changelogs/*"))


def test_what_these_lanes_import_is_none_of_it():
    wrong = [
        str(path.relative_to(ROOT))
        for folder in ("tests/simulation", "tests/support", "tests/chaos", "tests/simcloud", "tests/interop")
        for path in (ROOT / folder).rglob("*.py")
        if any(f"{name}." in path.read_text("utf-8") for name in ("tests.unit", "tests.integration"))
    ]
    assert wrong == []
