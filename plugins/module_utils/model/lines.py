# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of output: their subjects, their counting, and the lines that report a problem."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Self, TypedDict, Unpack

ATTEMPT = re.compile(r"^attempt \d+: ")
"""The beginning of a failure in the record of a launch."""
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


class Subject(TypedDict, total=False):
    """The subject of a line. Programs that read the lines rely on these names.

    *provider*, *pool*, *label* and *image* are names in the configuration. *request*, *node*, *build* and *upload* are
    ids of records in ZooKeeper. *server* is an id in the cloud. *event_id* is the id that the requestor wrote into its
    request.
    """

    provider: str | None
    pool: str | None
    label: str | None
    request: str | None
    node: str | None
    event_id: str | None
    server: str | None
    image: str | None
    build: str | None
    upload: str | None


class Line(str):
    """A line of output.

    :ivar about: its subject, without unknown parts.
    """

    __slots__ = ("about",)
    about: Subject

    def __new__(cls, text: str, **about: Unpack[Subject]) -> Self:
        line = super().__new__(cls, text)
        line.about = {key: value for key, value in about.items() if value}  # type: ignore[assignment]
        return line


class Trouble(Line):
    """A line that reports a problem; the journal shows it as a warning."""

    __slots__ = ()


def about(line: str) -> Subject:
    """Return the subject of a line; empty for a plain text."""
    return line.about if isinstance(line, Line) else {}


def collapsed(failures: Iterable[str]) -> str:
    """Return the failures as one text; attempts with the same failure appear once: ``fault: no host (3 attempts)``."""
    counts = Counter(ATTEMPT.sub("", failure) for failure in failures)
    return "; ".join(text if count == 1 else f"{text} ({count} attempts)" for text, count in counts.items())


def few(names: Iterable[str], noun: str, most: int = 3) -> str:
    """Return at most *most* names, sorted, and the number of the others: ``a, b, c and 4 other labels``."""
    known = sorted(names)
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {amount(rest, f'other {noun}')}" if rest > 0 else "")


def of_provider(name: str, text: str) -> str:
    """Return *text* with the provider in front; most errors of clouds name it themselves."""
    named = text.startswith(tuple(f"provider {name}{mark}" for mark in (":", " ", "'")))
    return text if named else f"provider {name}: {text}"


def of_providers(problems: Mapping[str, str]) -> list[str]:
    """Return one sentence for each problem; providers that have the same one share it.

    :param problems: provider → sentence, which may begin with ``provider NAME:``.
    """
    names: dict[str, list[str]] = {}
    for name, problem in problems.items():
        names.setdefault(problem.removeprefix(f"provider {name}: "), []).append(name)
    return [
        problems[those[0]] if len(those) == 1 else f"providers {few(those, 'provider')}: {why}"
        for why, those in names.items()
    ]


def word_for(number: float, one: str, many: str | None = None) -> str:
    """Return the noun or the verb for a number: ``node`` or ``nodes``, ``has`` or ``have``."""
    return one if number == 1 else many or one + "s"


def amount(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 request``, ``2 requests``."""
    return f"{number:.12g} {word_for(number, noun, plural)}"


def part_of(part: float, whole: float, noun: str, one: str = "is", many: str = "are") -> str:
    """Return a part of a number of things with its verb: ``0 of 1 node is``, ``0 of 2 nodes are``."""
    return f"{part:.12g} of {amount(whole, noun)} {one if whole == 1 else word_for(part, one, many)}"


def in_a_row(count: float) -> str:
    """Return how often something happened without a break: ``once``, ``3 times in a row``."""
    return "once" if count == 1 else f"{amount(count, 'time')} in a row"


def failed(count: float, noun: str) -> str:
    """Return how often something failed without a success since: ``1 build failed``, ``3 builds failed in a row``."""
    return f"{amount(count, noun)} failed{' in a row' if count != 1 else ''}"


def joined(names: Sequence[str], last: str = "and") -> str:
    """Return names as a part of a sentence: ``east``, ``east and west``, ``east, west and north``."""
    return f" {last} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def span(seconds: float) -> str:
    """Return a duration as text, with its two largest units."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    if left or not parts:
        parts.append(f"{left} s")
    return " ".join(parts[:2])
