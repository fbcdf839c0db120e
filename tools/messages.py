# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of the messages that users see, read from the syntax trees of the code: ``python -m tools.messages``.

It is generated whenever it is needed and never stored. ``tests/unit/test_messages.py`` checks every message in it.
"""

from __future__ import annotations

import argparse
import ast
import html
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]

ERROR, PROBLEM, WARNING, LINE, REASON, SCREEN, TASK, TEXT = (
    "error",
    "problem",
    "warning",
    "line",
    "reason",
    "screen",
    "task",
    "text",
)
KINDS = (ERROR, PROBLEM, WARNING, LINE, REASON, SCREEN, TASK, TEXT)
"""*problem* is about a configuration file, *task* is the name or message of a task, *text* a part of others."""

_DOCUMENTATION = frozenset({"DOCUMENTATION", "EXAMPLES", "RETURN"})
_OF_CALLS = {
    "Problem": PROBLEM,
    "ConfigError": PROBLEM,
    "problem": PROBLEM,
    "warn": WARNING,
    "warning": WARNING,
    "Trouble": WARNING,
    "trouble": WARNING,
    "line": LINE,
    "Line": LINE,
    "say": LINE,
    "state": LINE,
    "progress": LINE,
    "display": LINE,
    "fail_json": ERROR,
}
_OF_FILES = (
    ("model/reasons.py", REASON),
    ("model/owner.py", REASON),
    ("reporting/", SCREEN),
    ("web/", SCREEN),
)
_NOT_READ = ("doc_fragments/",)
_PATTERN_CALLS = frozenset(
    {"compile", "match", "fullmatch", "sub", "search", "split", "startswith", "endswith", "strptime"}
)
_NO_MESSAGE = re.compile(r"\(\?|\\[dswbSZ]|\[\^|text/|application/|^[A-Z]+ /|charset=|^#!|^\s*<|^[-./\w]+\.ya?ml$")
_WORD = re.compile(r"(?<![\w<$/.-])[A-Za-z][a-z]+(?:-[a-z]+)*(?![\w>/=])")


@dataclass(frozen=True)
class Message:
    """A message.

    :ivar text: the template; values are in braces, as their expressions.
    :ivar file: the file below the collection's root.
    :ivar function: the function or class that has it; "" at the level of the file.
    :ivar kind: one of :data:`KINDS`.
    """

    text: str
    file: str
    function: str
    kind: str


@cache
def catalogue(root: Path = ROOT) -> tuple[Message, ...]:
    """Return every message of the collection, in the order of the files."""
    found: list[Message] = []
    for path in sorted((root / "plugins").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not any(part in name for part in _NOT_READ):
            found += of_python(path.read_text("utf-8"), name)
    for path in sorted((root / "plugins").rglob("*.html")):
        found += of_page(path.read_text("utf-8"), path.relative_to(root).as_posix())
    for folder in ("roles", "playbooks"):
        for path in sorted((root / folder).rglob("*.yml")):
            if not {"meta", "defaults", "vars", "collections"} & set(path.relative_to(root).parts):
                found += of_tasks(path.read_text("utf-8"), path.relative_to(root).as_posix())
    return tuple(dict.fromkeys(found))


def of_python(source: str, file: str) -> list[Message]:
    """Return the messages of a Python file."""
    reader = _Reader(file)
    reader.visit(ast.parse(source))
    return reader.found


def of_page(source: str, file: str) -> list[Message]:
    """Return the messages of a template of a page: its text between tags, a message for each line."""
    plain = re.sub(r"{#.*?#}|<!--.*?-->|<(script|style)\b.*?</\1>", "", source, flags=re.DOTALL)
    titles = re.findall(r'\b(?:title|placeholder|aria-label|alt)="([^"]+)"', plain)
    plain = re.sub(r"{%.*?%}", "\n", plain, flags=re.DOTALL)
    plain = re.sub(r"</?(?:a|b|code|em|strong|span|small|time)\b[^>]*>", "", plain)
    texts = [html.unescape(" ".join(text.split())) for text in re.split(r"<[^>]*>|\n", plain)] + titles
    return [Message(text, file, "", SCREEN) for text in texts if is_message(re.sub(r"{{.*?}}", "{}", text))]


def of_tasks(source: str, file: str) -> list[Message]:
    """Return the messages of a file of tasks or of a playbook: names of tasks and texts of fail, assert and debug."""
    return [
        Message(" ".join(text.split()), file, "", TASK if key == "name" else kind)
        for key, kind, text in _task_texts(yaml.load(source, Loader=_TolerantLoader))
        if is_message(re.sub(r"{{.*?}}", "{}", text, flags=re.DOTALL))
    ]


def is_message(text: str) -> bool:
    """Return whether a template is for people: it has two words at least, or a word and a value."""
    if _NO_MESSAGE.search(text) or " " not in text.strip():
        return False
    plain = re.sub(r"{[^{}]*}", " {} ", text)
    words = _WORD.findall(plain)
    return len(words) >= 2 or (len(words) == 1 and "{}" in plain and len(plain.split()) >= 2)


class _Reader(ast.NodeVisitor):
    """Collects the strings of a syntax tree that are for people."""

    def __init__(self, file: str) -> None:
        self.found: list[Message] = []
        self._file = file
        self._functions: list[str] = []
        self._kinds: list[str] = [next((kind for part, kind in _OF_FILES if part in file), TEXT)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if not names & _DOCUMENTATION and "__slots__" not in names:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._within(ERROR, node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if name in _PATTERN_CALLS:
            return
        if name == "wrong" and len(node.args) == 1:  # of model.errors
            self._within(PROBLEM, node)
        elif name in _OF_CALLS:
            self._within(_OF_CALLS[name], node)
        elif name.endswith("Error") or name in ("DeadlineExceeded", "PartlyFailed"):
            self._within(ERROR, node)
        else:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._add(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self._add(template(node))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = template(node)
        if text is None:
            self.generic_visit(node)
        else:
            self._add(text)

    def _inside(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._functions.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._functions.pop()

    def _within(self, kind: str, node: ast.AST) -> None:
        self._kinds.append(kind)
        self.generic_visit(node)
        self._kinds.pop()

    def _add(self, text: str | None) -> None:
        if text and is_message(text):
            self.found.append(Message(text, self._file, ".".join(self._functions), self._kinds[-1]))


def template(node: ast.expr) -> str | None:
    """Return the template that an expression makes, None when it makes no text that is known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else _value(part.value)  # type: ignore[attr-defined]
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = template(node.left), template(node.right)
        if left is None and right is None:
            return None
        return (_value(node.left) if left is None else left) + (_value(node.right) if right is None else right)
    return None


def _value(node: ast.expr) -> str:
    return "{" + ast.unparse(node).replace("{", "<").replace("}", ">") + "}"


def _called(node: ast.Call) -> str:
    called = node.func
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


class _TolerantLoader(yaml.SafeLoader):
    """Reads files with Ansible's tags."""


_TolerantLoader.add_multi_constructor("!", lambda loader, suffix, node: str(node.value))

_TASK_KEYS = {"fail_msg": ERROR, "success_msg": LINE, "msg": LINE}


def _task_texts(value: Any, failing: bool = False) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, list):
        for entry in value:
            yield from _task_texts(entry)
    elif isinstance(value, dict):
        is_task = any("." in str(key) or key in ("block", "hosts", "tasks") for key in value)
        for key, inner in value.items():
            if isinstance(inner, str) and (key in _TASK_KEYS or (key == "name" and is_task)):
                yield key, ERROR if failing else _TASK_KEYS.get(key, TASK), inner
            else:
                yield from _task_texts(inner, failing=str(key).endswith(".fail"))


def main(arguments: list[str]) -> int:
    """Print the catalogue: kind, place and text of each message, in columns with a tab between them."""
    parser = argparse.ArgumentParser(description="Print every message that users see.")
    parser.add_argument("--kind", choices=KINDS, help="only messages of this kind")
    parser.add_argument("--under", default="", help="only files whose path contains this")
    parser.add_argument("--count", action="store_true", help="only the number of messages of each kind")
    chosen = parser.parse_args(arguments)
    messages = [
        message for message in catalogue() if chosen.kind in (None, message.kind) and chosen.under in message.file
    ]
    if chosen.count:
        for kind in KINDS:
            print(f"{kind}\t{sum(message.kind == kind for message in messages)}")
        return 0
    for message in messages:
        place = f"{message.file}:{message.function}" if message.function else message.file
        print(message.kind, place, message.text.replace("\n", "\\n"), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
