# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``%(NODEPOOL_X)`` in texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.substitution import expand
from tests.support.config_texts import ZOOKEEPER, complaints, parse


@given(st.text())
def test_a_text_without_references_stays_as_it_is(text):
    if "%(NODEPOOL_" not in text:
        result = expand(text, {"NODEPOOL_A": "x"})
        assert (result.text, result.problems, result.values) == (text, (), frozenset())
        assert list(result.lines) == list(range(1, len(text.splitlines()) + 1))


def test_only_names_that_begin_with_nodepool():
    environ = {"HOME": "h", "NODEPOOL_A": "1", "NODEPOOL_A_B2": "2", "NODEPOOL_": "3"}
    text = "%(HOME) %(NODEPOOL_A) %(NODEPOOL_A_B2)s %(NODEPOOL_) %(nodepool_a) %NODEPOOL_A"
    assert expand(text, environ).text == "%(HOME) 1 2s 3 %(nodepool_a) %NODEPOOL_A"


def test_a_value_is_not_searched_again():
    assert expand("%(NODEPOOL_A)", {"NODEPOOL_A": "%(NODEPOOL_A)"}).text == "%(NODEPOOL_A)"


def test_a_missing_variable_is_told_with_its_line_and_nothing_follows_from_it():
    text = ZOOKEEPER + "labels:\n- name: a\n  min-ready: %(NODEPOOL_READY)\nmax-hold-age: nonsense\n"
    assert complaints(text) == [
        (
            "nodepool.yaml:4: the environment variable NODEPOOL_READY is not set, but %(NODEPOOL_READY) refers to it: "
            "set it where this runs, or write the value itself"
        ),
        (
            "nodepool.yaml:5: max-hold-age: is the text 'nonsense'; expected a whole number of seconds: "
            "write the number alone, in seconds"
        ),
    ]


def test_a_missing_variable_in_a_comment_is_no_matter():
    assert parse(ZOOKEEPER + "# %(NODEPOOL_GONE)\n").warnings == ()


def test_a_value_may_be_yaml():
    text = ZOOKEEPER + "labels: %(NODEPOOL_LABELS)\n"
    assert list(parse(text, environ={"NODEPOOL_LABELS": "[{name: a}, {name: b}]"}).labels) == ["a", "b"]


def test_lines_are_those_of_the_file_when_a_value_has_several():
    text = "images-dir: |\n  %(NODEPOOL_TEXT)\nlabels: 1\n" + ZOOKEEPER
    assert complaints(text, environ={"NODEPOOL_TEXT": "one\n  two\n  three"}) == [
        "nodepool.yaml:3: labels: is the number 1; expected a list: write a list, [one, two]"
    ]


def test_a_variable_that_is_not_utf8():
    (problem,) = complaints(ZOOKEEPER + "images-dir: %(NODEPOOL_DIR)\n", environ={"NODEPOOL_DIR": "/\udce9"})
    assert problem.startswith("nodepool.yaml:2: has a character that is not UTF-8, from an environment variable")


def test_what_came_from_the_environment_is_not_shown():
    text = ZOOKEEPER + "max-hold-age: a%(NODEPOOL_SECRET)b\n"
    (problem,) = complaints(text, environ={"NODEPOOL_SECRET": "hunter2"})
    assert "hunter2" not in problem
    assert "is a text; expected a whole number" in problem
