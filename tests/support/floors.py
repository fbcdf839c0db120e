# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The floors of the house, as rules over the imports of each file below ``plugins/``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = "ansible_collections.stackci.nodepool."
UTILS = "plugins.module_utils."

# From the ground up. Rooms of the same height do not see each other.
HEIGHTS = {
    "model": 0,
    "clients": 1,
    "launching": 2,
    "imaging": 2,
    "sweeping": 2,
    "cycles": 3,
    "reporting": 4,
    "web": 5,
    "runtime": 6,
    "plugin_utils": 7,
    "faces": 8,
}
FACES = ("modules", "inventory", "action", "filter", "doc_fragments")

# What a value has no business with: clocks, chance, files, processes, the network.
IMPURE = {
    "asyncio", "http", "io", "os", "queue", "random", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "ssl", "subprocess", "tempfile", "threading", "time", "urllib.request",
}  # fmt: skip
WITH_LIBRARIES = ("clients", "web")
ANSIBLE_FROM = HEIGHTS["runtime"]


@dataclass(frozen=True)
class Import:
    """An imported module: its dotted *name*, the *line*, and whether it may be missing when the file is run."""

    name: str
    line: int
    guarded: bool


def room(module: str) -> str:
    """The room of a module of ours, named from the collection's root; empty when it is in none."""
    parts = module.removesuffix(".__init__").split(".")
    if parts[:2] == ["plugins", "module_utils"]:
        return parts[2] if len(parts) > 2 else ""
    if parts[:2] == ["plugins", "plugin_utils"]:
        return "plugin_utils"
    return "faces" if len(parts) > 1 and parts[1] in FACES else ""


def absolute(module: str, node: ast.ImportFrom) -> str:
    """What is imported from, by its full name; *module* imports it (a package ends in ``.__init__``)."""
    if not node.level:
        return node.module or ""
    folder = module.split(".")[: -node.level]
    return PACKAGE + ".".join([*folder, *([node.module] if node.module else [])])


def imports(module: str, tree: ast.AST, guarded: bool = False) -> Iterator[Import]:
    """All imports in *tree*, the code of *module*, wherever they stand."""
    for node in _statements_of(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, guarded) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Import(absolute(module, node), node.lineno, guarded)
        elif isinstance(node, ast.Try) and any("ImportError" in ast.dump(handler) for handler in node.handlers):
            yield from imports(module, ast.Module(node.body, []), guarded=True)
            for handler in node.handlers:
                yield from imports(module, handler, guarded)
            yield from imports(module, ast.Module([*node.orelse, *node.finalbody], []), guarded)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from imports(module, node, guarded=True)
        else:
            yield from imports(module, node, guarded)


def _statements_of(tree: ast.AST) -> Iterator[ast.AST]:
    """Its children that are statements or have some; an expression, which most nodes belong to, has none."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(tree, name, ())


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements in *tree*, wherever they stand."""
    for child in _statements_of(tree):
        yield child
        yield from _statements(child)


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a file; several rules look at each of them."""
    return ast.parse(source)


def breaches(module: str, source: str) -> list[str]:
    """What *module* (named from the collection's root) does that its floor does not allow, one sentence each."""
    here = room(module)
    if here not in HEIGHTS:
        return [f"{module}: there is no such room; the rooms are {', '.join(HEIGHTS)}"]
    tree = parsed(source)
    found = [
        f"{module}:{entry.line}: {complaint}" for entry in imports(module, tree) if (complaint := complain(here, entry))
    ]
    if here != "runtime" and "_json" in source:
        found += [
            f"{module}:{node.lineno}: only runtime/ ends a module ({node.attr})"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in ("fail_json", "exit_json")
        ]
    return found


def complain(here: str, entry: Import) -> str:
    """What is wrong with one import; empty when nothing is."""
    if entry.name.startswith(PACKAGE):
        there = room(entry.name.removeprefix(PACKAGE))
        same_room = here == there and here != "faces"
        if there in HEIGHTS and (same_room or HEIGHTS[there] < HEIGHTS[here]):
            return ""
        return f"{here}/ must not import from {there or entry.name}/"
    top = entry.name.split(".")[0]
    if top == "ansible":
        return "" if HEIGHTS[here] >= ANSIBLE_FROM else f"{here}/ must not know Ansible ({entry.name})"
    if top in sys.stdlib_module_names:
        pure = here != "model" or not ({top, entry.name} & IMPURE)
        return "" if pure else f"model/ is pure and must not import {entry.name}"
    if here not in WITH_LIBRARIES:
        return f"third-party {entry.name} belongs in clients/"
    return "" if entry.guarded else f"third-party {entry.name} must be imported inside try … except ImportError"


def edges(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Module → the modules of *sources* that it imports."""
    known = {module.removesuffix(".__init__"): module for module in sources}
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        tree = parsed(source)
        named = {entry.name for entry in imports(module, tree)}
        # "from package import module" names the module only in its second half.
        named |= {
            f"{absolute(module, node)}.{alias.name}"
            for node in _statements(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        graph[module] = {known[name] for item in named if (name := item.removeprefix(PACKAGE)) in known} - {module}
    return graph


def loaded(sources: Mapping[str, str], module: str) -> set[str]:
    """The modules of *sources* that Python runs when *module* is imported: not those that a function imports later."""
    reached: set[str] = set()
    new = [module]
    while new:
        name = new.pop()
        if name in sources and name not in reached:
            reached.add(name)
            new += [found for entry in _at_once(name, parsed(sources[name]).body) for found in _with_packages(entry)]
    return reached


def _at_once(module: str, body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{absolute(module, node)}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Try):
            yield from _at_once(module, node.body)


def _with_packages(name: str) -> Iterator[str]:
    """The module and its packages, of which one or the other is meant by ``from package import name``."""
    parts = name.removeprefix(PACKAGE).split(".")
    for length in range(1, len(parts) + 1):
        yield ".".join(parts[:length])
        yield ".".join([*parts[:length], "__init__"])


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of one circle of *graph*, first and last the same; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(module) for module in error.args[1]]
    return []


def between_folders(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Folder → the folders that its modules import from, by a graph of modules."""
    folders: dict[str, set[str]] = {}
    for module, others in graph.items():
        here = module.rpartition(".")[0]
        folders.setdefault(here, set()).update({other.rpartition(".")[0] for other in others} - {here})
    return folders


def plugin_sources(root: Path) -> dict[str, str]:
    """Module name (from the collection's root) → source, for every Python file below ``plugins/``.

    The name of a package ends in ``.__init__``.
    """
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text("utf-8")
        for path in sorted((root / "plugins").rglob("*.py"))
    }
