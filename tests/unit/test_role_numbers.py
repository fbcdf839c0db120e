# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every number that a role takes may be given by ``-e name=value``, which makes a text of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import Environment, nodes

ROLES = Path(__file__).resolve().parents[2] / "roles"
EXPRESSIONS = {"when", "that", "until", "failed_when", "changed_when", "retries", "delay"}
"""Keys whose values are expressions without braces."""
CASTS = {"int", "float", "string", "stackci.nodepool.every_minutes"}
"""Filters that take a text as well as a number."""


class _Loader(yaml.SafeLoader):
    """Reads Ansible's own tags."""


_Loader.add_constructor("!unsafe", lambda loader, node: "")


def options(role: str) -> Iterator[tuple[str, str]]:
    """Each option of a role, with its type."""
    specs = yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text("utf-8"))["argument_specs"]
    for name, option in specs["main"]["options"].items():
        yield name, option.get("type", "str")


NUMBERS = [
    (role.name, name)
    for role in sorted(ROLES.iterdir())
    if (role / "meta" / "argument_specs.yml").is_file()
    for name, kind in options(role.name)
    if kind in ("int", "float")
]


def texts(thing: Any, key: str = "") -> Iterator[str]:
    """Every template in a YAML document."""
    if isinstance(thing, dict):
        for inner, value in thing.items():
            yield from texts(value, inner)
    elif isinstance(thing, list):
        for value in thing:
            yield from texts(value, key)
    elif isinstance(thing, str):
        if "{{" in thing or "{%" in thing:
            yield thing
        elif key in EXPRESSIONS:
            yield "{{ " + thing + " }}"


@functools.cache
def templates(role: str) -> list[str]:
    """Every template of a role; data that hands a number on stands in a list, because there it has to be a number."""
    return list(_templates(role))


def _templates(role: str) -> Iterator[str]:
    for path in sorted((ROLES / role).rglob("*")):
        if path.suffix == ".j2":
            yield path.read_text("utf-8")
        elif path.suffix == ".yml" and path.parent.name != "meta":
            found = texts(yaml.load(path.read_text("utf-8"), _Loader))
            yield from (f"{{{{ [{text.strip()[2:-2]}] }}}}" if _is_data(path, text) else text for text in found)


def _is_data(path: Path, text: str) -> bool:
    return path.parent.name == "vars" and bool(re.fullmatch(r"\{\{[^{}]*\}\}", text.strip()))


def bare(template: str, name: str) -> list[str]:
    """How *name* is used where a text would not do: the kinds of nodes around it."""
    found: list[str] = []

    def look(node: nodes.Node, parent: nodes.Node) -> None:
        if isinstance(node, nodes.Name) and node.name == name and not _is_fine(parent):
            found.append(f"{type(parent).__name__} in {template.strip()}")
        for child in node.iter_child_nodes():
            look(child, node)

    tree = Environment().parse(template)
    look(tree, tree)
    return found


def _is_fine(parent: nodes.Node) -> bool:
    # What is only written down, or handed to a module, may be a text.
    return isinstance(parent, nodes.Output) or (isinstance(parent, nodes.Filter) and parent.name in CASTS)


def test_there_is_something_to_look_at():
    assert {role for role, _option in NUMBERS} >= {"awx", "builder", "launcher", "zookeeper"}
    assert len(NUMBERS) > 20


@pytest.mark.parametrize(("role", "name"), NUMBERS)
def test_a_number_may_be_a_text(role, name):
    assert [problem for template in templates(role) for problem in bare(template, name)] == []


@pytest.mark.parametrize("template", ["{{ a > 0 }}", "{{ a + 1 }}", "{{ 60 * a }}", "{{ b | max(a) }}", "{{ [a] }}"])
def test_a_bare_number_is_noticed(template):
    assert bare(template, "a") != []


@pytest.mark.parametrize("template", ["{{ a }}", "x = {{ a }}", "{{ a | int > 0 }}", "{{ 60 * a | float }}"])
def test_a_cast_is_fine(template):
    assert bare(template, "a") == []
