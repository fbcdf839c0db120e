# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule of the checker is, and how it tells of a violation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tests.chaos.history import Event, History, Tree


@dataclass(frozen=True)
class Violation:
    """*event* broke a rule; None: the end is not as it must be."""

    rule: str
    event: Event | None
    text: str

    def __str__(self) -> str:
        when = "end" if self.event is None else f"{self.event.at:.3f}"
        return f"{self.rule}: {when}: {self.text}"


class Rule:
    """Something that must hold."""

    name: ClassVar[str]

    def __init__(self) -> None:
        self.wrong: list[Violation] = []

    def note(self, event: Event | None, text: str) -> None:
        """Tell of a violation."""
        self.wrong.append(Violation(self.name, event, text))

    def begin(self, history: History) -> None:
        """Before all events."""

    def before(self, event: Event, tree: Tree) -> None:
        """An event is about to happen."""

    def after(self, event: Event, tree: Tree) -> None:
        """An event has happened."""

    def end(self, history: History, tree: Tree) -> None:
        """All events have happened."""
