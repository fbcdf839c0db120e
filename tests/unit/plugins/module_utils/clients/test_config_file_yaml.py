# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading YAML: what is taken as it is written, and every way in which a text can be broken."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import yaml_document
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.yaml_document import read_yaml
from tests.support.config_texts import ZOOKEEPER, complaints, parse


@pytest.fixture(params=["libyaml", "pure"], autouse=True)
def loader(request, monkeypatch):
    """Both of PyYAML's parsers: with and without the C library."""
    if request.param == "pure":
        monkeypatch.setattr(yaml_document, "_loader", lambda: yaml.SafeLoader)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1", {"a": 1}),
        ("a: 0x1F", {"a": 31}),
        ("a: 1.5", {"a": 1.5}),
        ("a: yes", {"a": True}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: 2024-01-02", {"a": "2024-01-02"}),
        ("a: '1'", {"a": "1"}),
        ("a: =", {"a": "="}),
        ("1: a", {"1": "a"}),
        ("yes: a", {"yes": "a"}),
        ("? ~\n: a", {"~": "a"}),
        ("[]", []),
        ("", None),
        ("# only this", None),
        ("a: |\n  x\n  # y\n", {"a": "x\n# y\n"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        (
            "x: &x {a: 1, b: 1}\ny: &y {a: 2, c: 2}\nz: {<<: [*x, *y], b: 3}",
            {"x": {"a": 1, "b": 1}, "y": {"a": 2, "c": 2}, "z": {"a": 1, "b": 3, "c": 2}},
        ),
        (
            "x: &x {a: 1}\ny: &y {<<: *x, b: 2}\nz: {a: 0, <<: *y}",
            {"x": {"a": 1}, "y": {"a": 1, "b": 2}, "z": {"a": 0, "b": 2}},
        ),
    ],
)
def test_what_is_read(text, data):
    document = read_yaml(text)
    assert document.problems == ()
    assert document.data == data


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("a:\n\t- b", 2, "indent with spaces, not with tabs"),
        ("a: 1\nb: c: d", 2, "put a text that contains ': ' in quotes"),
        ("a: *x", 1, "define the anchor"),
        ("<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> main\n", 1, "resolve the conflict that git has marked there"),
        ("a:\n<<<<<<< HEAD\n  - b\n=======\n  - c\n>>>>>>> main\n", 2, "resolve the conflict that git has marked"),
        ("a:\n  - b\n=======\n", 3, "resolve the conflict that git has marked there"),
        ("a: @x", 1, "put a text that begins with @"),
        ("a: 'x", 1, "close the quotes"),
        ("- a\nb: c", 2, "check the indentation"),
        ("a: |\n   x\n y", 3, "check the indentation"),
        ("--- a\n--- b", 2, "keep one document"),
        ("a: &b 1\nc: &b 2", 2, "give each anchor its own name"),
        ("a: 1\nb: \x01", 2, "control character"),
        ("a: !foo x", 1, "remove the tag"),
        ("a: !foo [x]", 1, "remove the tag"),
        ("a: !!set {x}", 1, "remove the tag"),
        ("a: !!binary eA==", 1, "remove the tag"),
        ("a: !!int x", 1, "is not a valid number"),
        ("a: !!bool x", 1, "remove the tag"),
        ("a: 1\nb: .inf", 2, "is not a valid number"),
        ("a: .nan", 1, "is not a valid number"),
        ("a: 0x_", 1, "is not a valid number"),
        ("a: " + "9" * 5000, 1, "is not a valid number"),
        ("[a]: b", 1, "use a text as the key"),
        ("? {a: b}\n: c", 1, "use a text as the key"),
        ("a: &a [*a]", 1, "refers to a mapping"),
        ("a: &a {<<: *a}", 1, "refers to a mapping"),
        ("a: &a {b: {<<: *a}}", 1, "refers to a mapping"),
        ("a: {<<: 1}", 1, "needs a mapping or a list of mappings"),
        ("a: {<<: [1]}", 1, "needs a mapping or a list of mappings"),
        ("[" * 100 + "]" * 100, 1, "nested more than"),
        ("- " * 100 + "a", 1, "nested more than"),
    ],
)
def test_what_is_refused(text, line, remedy):
    document = read_yaml(text)
    assert [problem.severity for problem in document.problems] == ["error"]
    assert document.problems[0].line == line
    assert remedy in document.problems[0].message


def test_half_a_character_is_refused():
    (problem,) = read_yaml('a: "\\ud800"').problems
    assert problem.severity == "error"


def test_a_key_that_stands_twice_is_a_warning_and_the_last_one_wins():
    text = ZOOKEEPER + "max-hold-age: 1\nlabels: []\nmax-hold-age: 2\n"
    sentence = "nodepool.yaml:4: 'max-hold-age' is repeated (first in line 2); the last one is used: remove one"
    config = parse(text)
    assert (config.max_hold_age, config.warnings) == (2, (sentence,))
    assert complaints(text, strict=True) == [sentence]


def test_overriding_a_merged_key_is_no_repetition():
    assert read_yaml("a: &a {x: 1}\nb: {<<: *a, x: 2}").problems == ()


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~"])
def test_an_empty_file_is_an_error(text):
    assert complaints(text) == ["nodepool.yaml:1: is empty: write at least the key zookeeper-servers"]


@pytest.mark.parametrize(("text", "kind"), [("- a", "list"), ("hello", "single value"), ("1", "single value")])
def test_a_file_without_keys_is_an_error(text, kind):
    (problem,) = complaints(text)
    assert problem.startswith(f"nodepool.yaml:1: holds a {kind}; expected 'key: value' lines")


def test_a_syntax_error_is_told_with_its_line_and_column():
    assert complaints(ZOOKEEPER + "labels:\n  - name: a: b\n") == [
        (
            "nodepool.yaml:3: is not valid YAML (column 12): put a text that contains ': ' in quotes, and check"
            " the indentation"
        )
    ]


def _aliases_of_aliases(first: str, each: str) -> str:
    """Ten levels, each with nine aliases of the level before."""
    levels = [f"l{level}: &l{level} {each.format(', '.join([f'*l{level - 1}'] * 9))}" for level in range(1, 11)]
    return "\n".join([f"l0: &l0 {first}", *levels])


def test_aliases_that_stand_for_too_many_values_are_refused_with_their_line():
    text = _aliases_of_aliases("[x]", "[{}]")
    (problem,) = read_yaml(text).problems
    assert problem.message == "aliases (*name) stand for more than 1,000,000 values: remove some"
    assert problem.line == 7
    assert complaints(f"{ZOOKEEPER}{text}\nlabels: *l10\n")


def test_merges_of_merges_are_read_once_each():
    document = read_yaml(_aliases_of_aliases("{a: 1}", "{{<<: [{}]}}"))
    assert document.data["l10"] == {"a": 1}
    assert document.problems == ()
