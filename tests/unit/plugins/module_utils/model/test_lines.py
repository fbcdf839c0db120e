# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines for people."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import (
    Line,
    Trouble,
    about,
    amount,
    collapsed,
    joined,
    of_provider,
    of_providers,
    word_for,
)


def test_one_is_not_many():
    assert [amount(number, "request") for number in (0, 1, 2)] == ["0 requests", "1 request", "2 requests"]
    assert amount(2, "entry", "entries") == "2 entries"


def test_a_verb_agrees_with_its_subjects():
    told = [f"{joined(names)} {word_for(len(names), 'has', 'have')}" for names in (["a"], ["a", "b"], ["a", "b", "c"])]
    assert told == ["a has", "a and b have", "a, b and c have"]
    assert joined(["a", "b"], "or") == "a or b" and joined([]) == ""


def test_attempts_that_failed_alike_are_told_once():
    failures = ["attempt 1: fault: no host", "attempt 2: fault: no host", "attempt 3: timeout: late"]
    assert collapsed(failures) == "fault: no host (2 attempts); timeout: late"


def test_a_line_knows_what_it_is_about_without_what_is_unknown():
    line = Trouble("node 17: fault", node="17", provider="east", request=None, event_id="")
    assert line == "node 17: fault" and isinstance(line, Line)
    assert about(line) == {"node": "17", "provider": "east"}
    assert about("plain") == {}


def test_providers_with_the_same_problem_share_a_sentence():
    problems = {"a": "provider a: no clouds.yaml", "b": "provider b: no clouds.yaml", "c": "provider c: no entry 'c'"}
    assert of_providers(problems) == ["providers a, b: no clouds.yaml", "provider c: no entry 'c'"]
    many = {name: f"provider {name}: no clouds.yaml" for name in "abcde"}
    assert of_providers(many) == ["providers a, b, c and 2 other providers: no clouds.yaml"]


def test_a_text_names_its_provider_once():
    assert of_provider("east", "no answer") == "provider east: no answer"
    assert of_provider("east", "provider east: no answer") == "provider east: no answer"
    assert of_provider("east", "provider easter: no answer") == "provider east: provider easter: no answer"
