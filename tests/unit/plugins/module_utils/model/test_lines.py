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
    failed,
    in_a_row,
    joined,
    of_provider,
    of_providers,
    part_of,
    word_for,
)


def test_one_is_not_many():
    assert [amount(number, "request") for number in (0, 1, 2)] == ["0 requests", "1 request", "2 requests"]
    assert amount(2, "entry", "entries") == "2 entries"


def test_a_part_of_a_number_of_things_has_its_verb():
    told = [part_of(part, whole, "node") for part, whole in ((0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    assert told == ["0 of 1 node is", "1 of 1 node is", "0 of 2 nodes are", "1 of 2 nodes is", "2 of 2 nodes are"]
    assert part_of(1, 3, "server", "has", "have") == "1 of 3 servers has"


def test_a_single_failure_is_not_in_a_row():
    assert [failed(count, "build") for count in (1, 2)] == ["1 build failed", "2 builds failed in a row"]
    assert [in_a_row(count) for count in (1, 2)] == ["once", "2 times in a row"]


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
