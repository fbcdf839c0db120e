# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read off ended cycles, and how much of them is kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import (
    LONGEST,
    Archive,
    Kept,
    closing_line,
    measure,
    surplus,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings

SETTINGS = Settings("launcher", "p", "launcher", "/state", keep_cycles=5, keep_files=100, keep_mb=1.0)
MEBIBYTE = 1024 * 1024


def write_events(folder, *events):
    (folder / "job_events").mkdir(parents=True)
    for number, event in enumerate(events, 1):
        (folder / "job_events" / f"{number}-uuid.json").write_text(json.dumps(event), encoding="utf-8")


def task(message, event="runner_on_ok", action="ansible.builtin.debug", **data):
    return {"event": event, "event_data": {"task_action": action, "res": {"msg": message}, **data}}


def test_the_last_text_of_a_debug_task_is_what_a_cycle_says(tmp_path):
    events = [task("first"), task("2 requests\nfulfilled"), task(["a", "list"]), task("no", action="copy")]
    write_events(tmp_path, *events, {"event": "playbook_on_stats"})
    assert closing_line(tmp_path, well=True).text == "2 requests fulfilled"


def test_events_are_in_the_order_of_their_numbers_not_of_their_names(tmp_path):
    write_events(tmp_path, *[task(f"text {number}") for number in range(1, 12)])
    assert closing_line(tmp_path, well=True).text == "text 11"


def test_why_it_failed(tmp_path):
    ignored = task("never mind", "runner_on_failed", ignore_errors=True)
    write_events(tmp_path, task("broken", "runner_on_failed", "x"), ignored, {"event": "playbook_on_stats"})
    assert closing_line(tmp_path, well=False).text == "broken"


def test_without_any_event_what_was_written_tells(tmp_path):
    artifacts = tmp_path / "artifacts" / "launcher-1"
    artifacts.mkdir(parents=True)
    (tmp_path / "runner.log").write_text("Traceback …\nModuleNotFoundError: No module named 'x'\n", encoding="utf-8")
    assert closing_line(artifacts, well=False).text == "ModuleNotFoundError: No module named 'x'"
    (artifacts / "stdout").write_text("[ERROR]: the playbook could not be found\n\n", encoding="utf-8")
    (tmp_path / "runner.log").unlink()
    assert closing_line(artifacts, well=False).text == "[ERROR]: the playbook could not be found"


@pytest.mark.parametrize("text", ["{", "[]", '{"event": "runner_on_ok", "event_data": null}'])
def test_broken_events_do_not_matter(tmp_path, text):
    write_events(tmp_path, task("told"))
    (tmp_path / "job_events" / "9-uuid.json").write_text(text, encoding="utf-8")
    assert closing_line(tmp_path, well=True).text == "told"


def test_nothing_at_all(tmp_path):
    assert closing_line(tmp_path / "none", well=True).text == closing_line(tmp_path / "none", well=False).text == ""


def test_lines_are_of_bounded_length(tmp_path):
    write_events(tmp_path, task("x" * 5000))
    assert len(closing_line(tmp_path, well=True).text) == LONGEST


@pytest.mark.parametrize(
    ("kept", "removed"),
    [
        ([Kept(number, 1, 1) for number in range(1, 9)], [1, 2, 3]),
        ([Kept(1, 60, 1), Kept(2, 30, 1), Kept(3, 20, 1)], [1]),
        ([Kept(1, 1, MEBIBYTE // 2), Kept(2, 1, MEBIBYTE // 2), Kept(3, 1, MEBIBYTE // 2)], [1]),
        ([Kept(1, 1, 2 * MEBIBYTE)], [1]),
        ([], []),
    ],
)
def test_the_oldest_are_removed_until_all_bounds_are_kept(kept, removed):
    assert surplus(kept, SETTINGS) == removed


def fill(path, files=3):
    (path / "tmp").mkdir(parents=True)
    (path / "tmp" / "x").write_text("x", encoding="utf-8")
    (path / "env").mkdir()
    (path / "heart").write_text("x", encoding="utf-8")
    (path / "artifacts" / "launcher-1" / "fact_cache").mkdir(parents=True)
    for number in range(files):
        (path / "artifacts" / "launcher-1" / f"{number}").write_text("x", encoding="utf-8")


def test_an_ended_cycle_keeps_its_artifacts_only(tmp_path):
    archive = Archive(tmp_path / "cycles")
    number = archive.fresh()
    fill(archive.path(number))
    archive.close(number, SETTINGS, ())
    assert [path.name for path in archive.path(number).iterdir()] == ["artifacts"]
    assert measure(number, archive.path(number)).files == 3


def test_hundreds_of_cycles_stay_within_the_bounds_also_for_the_next_loop(tmp_path):
    for _loop in range(3):
        archive = Archive(tmp_path / "cycles")
        for _cycle in range(40):
            number = archive.fresh()
            fill(archive.path(number))
            archive.close(number, SETTINGS, ())
            assert len(list((tmp_path / "cycles").iterdir())) <= SETTINGS.keep_cycles
    assert archive.fresh() == 121


def test_what_is_in_use_is_not_touched(tmp_path):
    archive = Archive(tmp_path / "cycles")
    for number in range(1, 9):
        fill(archive.path(number))
    archive = Archive(tmp_path / "cycles")
    archive.prune(replace(SETTINGS, keep_cycles=1), [1])
    assert {path.name for path in (tmp_path / "cycles").iterdir()} == {"000001", "000008"}


def test_the_summary_of_the_module_comes_before_the_texts_of_the_playbook(tmp_path):
    summary = {"done": "1 request fulfilled", "failed": ["request 5 failed: no host"], "wrong": [], "waits": ["a", "b"]}
    module = {"event": "runner_on_ok", "event_data": {"task_action": "x", "res": {"summary": summary}}}
    write_events(tmp_path, module, task("something else"))
    words = closing_line(tmp_path, well=True)
    assert words.text == "1 request fulfilled; request 5 failed: no host; a; b"
    assert words.troubled is True


def test_a_summary_without_trouble_is_none_and_a_long_one_is_cut(tmp_path):
    summary = {"done": "done", "failed": [], "wrong": [], "waits": [f"w{number}" for number in range(30)]}
    write_events(tmp_path, {"event": "runner_on_ok", "event_data": {"task_action": "x", "res": {"summary": summary}}})
    words = closing_line(tmp_path, well=True)
    assert words.troubled is False and words.text.endswith("w9; 20 more like this")
