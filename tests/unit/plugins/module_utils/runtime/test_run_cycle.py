# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a cycle becomes that of its module."""

from __future__ import annotations

import pstats
from typing import Any, cast

import pytest
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import STOPPED, Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import PartlyFailed
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.run_cycle import cycle_result, run_cycle


class Module:
    """As much of AnsibleModule as a cycle uses."""

    def __init__(self, *, check_mode: bool = False, diff: bool = False, **params: Any) -> None:
        self.check_mode = check_mode
        self._diff = diff
        self.params = {
            "control_file": None,
            "heartbeat_file": None,
            "progress_file": None,
            "profile_file": None,
            "strict_check": True,
            **params,
        }
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def module(**given: Any) -> AnsibleModule:
    return cast(AnsibleModule, Module(**given))


def warnings_of(made: AnsibleModule) -> list[str]:
    return cast(Module, made).warnings


def result(**more: Any) -> dict[str, Any]:
    return {"changed": True, "diff": {"before": "", "after": "x"}, "warnings": ["odd key"], **more}


def test_check_mode_looks_ahead_and_runs_nothing():
    def run(*_arguments: object, **_more: object) -> dict[str, Any]:
        raise AssertionError

    assert run_cycle(module(check_mode=True), "options", run, lambda options: {"for": options}) == {"for": "options"}


def test_the_word_in_the_control_file_stops_the_cycle_and_its_lines_go_into_the_file(tmp_path):
    (tmp_path / "control").write_text("stop\n", "utf-8")
    files = {name: str(tmp_path / name.removesuffix("_file")) for name in ("control_file", "progress_file")}

    def run(options: str, *, progress: Any, stop: Stop) -> dict[str, Any]:
        progress(f"with {options}")
        return {"ended": stop.reason}

    assert run_cycle(module(**files), "these", run, lambda options: {}) == {"ended": STOPPED}
    assert '"line": "with these"' in (tmp_path / "progress").read_text("utf-8")


def test_a_profile_of_the_cycle_goes_into_the_file(tmp_path):
    path = tmp_path / "cycle.prof"

    def run(options: str, *, progress: Any, stop: Stop) -> dict[str, Any]:
        return {"ended": options}

    assert run_cycle(module(profile_file=str(path)), "these", run, lambda options: {}) == {"ended": "these"}
    assert any(name == "run" for _file, _line, name in pstats.Stats(str(path)).stats)  # type: ignore[attr-defined]


def test_warnings_are_given_and_the_diff_is_there_only_when_it_is_wanted():
    made = module()
    assert cycle_result(made, result(left_out={"cloud1": "no login"}), None) == {
        "changed": True,
        "left_out": {"cloud1": "no login"},
    }
    assert warnings_of(made) == ["odd key", "provider cloud1 is skipped: no login"]
    assert "diff" in cycle_result(module(diff=True), result(), None)


def test_the_summary_is_made_of_the_result():
    assert cycle_result(module(), result(), lambda found: {"done": found["changed"]})["summary"] == {"done": True}


def test_what_cannot_be_used_fails_check_mode_and_carries_the_plan():
    plan = {"unusable": ["cloud1: no login", "cloud2: away"], "left_out": {"cloud1": "no login"}, "plan": []}
    made = module(check_mode=True)
    with pytest.raises(PartlyFailed, match="cloud1: no login\ncloud2: away") as caught:
        cycle_result(made, result(**plan), None)
    assert caught.value.result["plan"] == []
    assert warnings_of(made) == ["odd key"]
    assert cycle_result(module(check_mode=True, strict_check=False), result(**plan), None)["plan"] == []
    assert cycle_result(module(check_mode=True), result(unusable=[], plan=[]), None)["plan"] == []
