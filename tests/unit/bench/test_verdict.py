# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With what a measurement ends."""

from __future__ import annotations

import json

import pytest

from tests.bench import __main__ as bench
from tests.bench import machine
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError


class Made:
    """A room with one figure whose target is 2."""

    name = "made"
    title = "made up"

    def __init__(self, value: float) -> None:
        self._value = value

    def run(self, quick: bool) -> Findings:
        findings = Findings()
        findings.add("a", self._value, at_most=2.0)
        return findings


class Broken(Made):
    """Cannot be measured."""

    def run(self, quick: bool) -> Findings:
        raise BenchError("no cloud")


@pytest.fixture(autouse=True)
def _short_loop(monkeypatch):
    """No verdict depends on the loop by which machines are compared, and it is nearly all that these tests take."""
    monkeypatch.setattr(machine, "LOOP_TURNS", 1_000)


@pytest.mark.parametrize(
    ("rooms", "plain", "strict"),
    [
        ([Made(2.0)], 0, 0),
        ([Made(2.0), Made(3.0)], 0, 1),
        ([Made(3.1), Made(2.0)], 1, 1),
        ([Broken(0.0), Made(1.0)], 1, 1),
    ],
)
def test_it_fails_for_what_is_missed_by_more_than_half_and_strictly_for_any(rooms, plain, strict, tmp_path, capsys):
    path = tmp_path / "figures.json"
    assert bench._run(rooms, path, quick=True, check=False) == plain
    assert bench._run(rooms, path, quick=True, check=True) == strict
    assert json.loads(path.read_text(encoding="utf-8"))["rooms"]["made"]
    assert "targets met" in capsys.readouterr().out
