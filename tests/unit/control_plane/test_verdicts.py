# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``make test-openstack`` tells of two clouds."""

from __future__ import annotations

from tests.openstack import verdicts


def ok(seen):
    return {"verdict": "ok", "seen": seen, "seconds": 1.0}


def test_figures_and_ids_are_no_difference():
    real = {"single": ok("deleted with 2 calls in 3.5 s; reverted to 8958feeb")}
    simulated = {"single": ok("deleted with 3 calls in 0.1 s; reverted to 00000042")}
    assert list(verdicts.differences(real, simulated, "none")) == []


def test_other_words_and_other_verdicts_are_differences():
    real = {"multi": ok("zone nova"), "quota": ok("0 refusals"), "real-only": ok("x")}
    simulated = {"multi": ok("zone az1"), "quota": {"verdict": "WRONG", "seen": "not\nserved", "seconds": 1.0}}
    assert list(verdicts.differences(real, simulated, "none")) == [
        "multi:", "  real       ok     zone nova", "  simulated  ok     zone az1",
        "quota:", "  real       ok     0 refusals", "  simulated  WRONG  not served",
    ]  # fmt: skip


def test_a_row_that_cannot_be_tried_is_not_compared():
    real = {"cell-away": ok("4 servers kept")}
    simulated = {"cell-away": {"verdict": "none", "seen": "no database nova", "seconds": 1.0}}
    assert list(verdicts.differences(real, simulated, "none")) == []


def test_rows_that_were_run_one_by_one_are_kept_together(tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts, "FOLDER", tmp_path / "openstack")
    assert verdicts.read("real") == {}
    verdicts.keep("real", {"single": ok("a"), "multi": ok("b")})
    verdicts.keep("real", {"multi": ok("c")})
    assert {name: found["seen"] for name, found in verdicts.read("real").items()} == {"single": "a", "multi": "c"}
