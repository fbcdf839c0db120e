# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock is read once for each decision.

A function that reads it twice, or that has a time and calls a method of its class that reads it again, compares two
moments: what should be over "now" is never over. In virtual time the cycle's clock goes on with each reading, so tests
notice; this one finds such functions before they are met.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UTILS = ROOT / "plugins" / "module_utils"
ALLOWED = Path(__file__).with_name("clock_reads.txt")
READS = frozenset({"now", "clock", "_clock", "monotonic", "time"})


def is_reading(node: ast.AST) -> bool:
    """A call without arguments of something that is named like a clock."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in READS


def inside(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions within it, which run at another time."""
    todo = [function]
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield child
                todo.append(child)


def own_calls(function: ast.AST) -> Iterator[str]:
    """The methods of its own object that a function calls."""
    for node in inside(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_self = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
            if of_self and node.func.attr not in READS:
                yield node.func.attr


def findings(source: str, name: str) -> Iterator[str]:
    """``FILE CLASS.FUNCTION`` of each function that reads the clock more than once, also by a method of its class."""
    tree = ast.parse(source)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for owner in owners:
        functions = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
        reads = {each.name: sum(map(is_reading, inside(each))) for each in functions}
        for each in functions if any(reads.values()) else ():
            arguments = each.args
            has_time = any(one.arg == "now" for one in (*arguments.args, *arguments.kwonlyargs))
            again = [called for called in own_calls(each) if reads.get(called)]
            if reads[each.name] > 1 or (again and (reads[each.name] or has_time)):
                where = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
                yield f"{name} {where}{each.name}"


@cache
def found() -> list[str]:
    return sorted(
        finding
        for path in UTILS.rglob("*.py")
        for finding in findings(path.read_text(encoding="utf-8"), str(path.relative_to(UTILS)))
    )


def allowed() -> dict[str, str]:
    """Function → why it reads the clock more than once."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    rows = (line.partition("  # ") for line in lines if line and not line.startswith("#"))
    return {function: reason for function, _mark, reason in rows}


def test_no_decision_reads_the_clock_twice():
    assert [one for one in found() if one not in allowed()] == []


def test_the_list_of_exceptions_has_reasons_and_nothing_superfluous():
    known = allowed()
    assert [function for function, reason in known.items() if not reason] == []
    assert [function for function in known if function not in found()] == []


def test_the_rule_finds_both_kinds():
    source = """
class Gate:
    def _known(self):
        return self._clock()

    def open(self, now):
        return self._known() < now

    def twice(self):
        return time.time() - time.time()

    def once(self):
        return self._clock() + 1
"""
    assert list(findings(source, "x.py")) == ["x.py Gate.open", "x.py Gate.twice"]
