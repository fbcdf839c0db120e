# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a loop: what they may say, and that all problems are named at once."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import SettingsError, load, parse

NEEDED = '[loop]\nname = "launcher"\nplaybook = "stackci.nodepool.launcher"\nprefix = "launcher"\nstate_dir = "/s"\n'


def problems(text):
    with pytest.raises(SettingsError) as caught:
        parse(text, "loop.toml")
    return caught.value.problems


def test_what_is_needed_is_enough():
    settings = parse(NEEDED, "loop.toml")
    assert (settings.name, settings.duration, settings.overlap) == ("launcher", 600.0, True)
    assert settings.variables == settings.environment == {}


def test_variables_and_environment_are_passed_on():
    text = NEEDED + '[variables]\nlauncher_providers = ["a"]\ndeep = {x = 1}\n[environment]\nSTATSD_HOST = "s"\n'
    settings = parse(text, "loop.toml")
    assert settings.variables == {"launcher_providers": ["a"], "deep": {"x": 1}}
    assert settings.environment == {"STATSD_HOST": "s"}


def test_all_problems_at_once_each_with_its_place():
    text = '[loop]\nname = "launcher"\nduration = 0\noverlap = 1\nkeep_cycles = "x"\npause = -1\nspeed = 3\n[extra]\n'
    found = problems(text + "[environment]\nA = 1\n")
    assert len(found) == 10
    for words in (
        "loop.playbook: is missing", "loop.prefix: is missing", "loop.state_dir: is missing", "loop.duration: is 0",
        "loop.overlap: is 1: give true or false", "loop.keep_cycles: is \"x\": give a whole number",
        "loop.pause: is -1", "loop.speed: no such",
        "extra: no such table", "environment.A: give a text",
    ):  # fmt: skip
        assert [problem for problem in found if problem.startswith(f"loop.toml: {words}")], words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[loop", "is not valid TOML"),
        (NEEDED + "\n[[variables]]\n", "variables: must be a table"),
        (NEEDED.replace('"launcher"\np', '"La uncher"\np'), "loop.name"),
        (NEEDED.replace('"/s"', '"s"'), "give an absolute path"),
        (NEEDED + "duration = true\n", "loop.duration: is true: give a finite number"),
        (NEEDED + "duration = nan\n", "loop.duration: is nan: give a finite number"),
        (NEEDED + "grace = inf\n", "loop.grace: is inf: give a finite number"),
        (NEEDED + "durations = 5\n", "loop.durations: no such setting; did you mean duration?"),
    ],
)
def test_a_single_problem(text, words):
    assert len(problems(text)) == 1 and words in problems(text)[0]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load(str(tmp_path / "nothing"))
