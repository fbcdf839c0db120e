# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Substitution of environment variables, ``%(NODEPOOL_X)``, in the text of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .problems import Problem

_REFERENCE = re.compile(r"%\((NODEPOOL_\w*)\)", re.ASCII)


@dataclass(frozen=True)
class Expanded:
    """A text with values in place of references.

    *lines*: the line of the file for each line of *text*. *values*: the values that were inserted.
    """

    text: str
    lines: tuple[int, ...]
    values: frozenset[str]
    problems: tuple[Problem, ...]


def expand(text: str, environ: Mapping[str, str]) -> Expanded:
    """Replace each ``%(NODEPOOL_X)`` by that variable; references in values are not replaced.

    A variable that is not set is a problem, except in a line that is a comment.
    """
    result: list[str] = []
    lines: list[int] = []
    values: set[str] = set()
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(keepends=True), start=1):

        def value_of(match: re.Match[str], line: str = line) -> str:
            name = match.group(1)
            if name in environ:
                values.add(environ[name])
                return environ[name]
            if line.lstrip().startswith("#"):
                return match.group(0)
            problems.append(_missing(name, len(lines) + 1))
            # The name without %(): a text in YAML cannot begin with %, and one mistake should give one message.
            return name

        expanded = _REFERENCE.sub(value_of, line)
        result.append(expanded)
        lines.extend([number] * max(1, len(expanded.splitlines())))
    return Expanded("".join(result), tuple(lines), frozenset(values - {""}), tuple(problems))


def _missing(name: str, line: int) -> Problem:
    return Problem(
        (),
        f"the environment variable {name} is not set, but %({name}) refers to it: set it where this runs, "
        "or write the value itself",
        line=line,
    )
