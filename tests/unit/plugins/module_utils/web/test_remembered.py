# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A value is computed again when it must be, and not more often than that."""

from __future__ import annotations

import math
import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.web.remembered import MOST, Remembered


class Kitchen:
    """Counts how often something is made, which takes *takes* seconds of a clock of its own."""

    def __init__(self, takes: float = 0.0) -> None:
        self.now = 100.0
        self.takes = takes
        self.made = 0
        self.version = 1
        self.kept = Remembered(lambda: self.now)

    def ask(self, version: object = 1, valid: float = math.inf, name: str = "dish") -> int:
        """The number of the making whose result it gets."""
        return self.kept.value(name, version, valid, self.make)

    def make(self) -> int:
        """Make it."""
        self.made += 1
        self.now += self.takes
        return self.made


def test_the_same_version_is_computed_once():
    kitchen = Kitchen()
    kitchen.ask()
    kitchen.now += 1e6
    assert kitchen.ask() == 1


def test_another_version_is_computed_anew():
    kitchen = Kitchen()
    assert [kitchen.ask(version) for version in (1, 2, 2, 3)] == [1, 2, 2, 3]


def test_a_value_with_ages_is_computed_anew_when_they_have_grown():
    kitchen = Kitchen()
    kitchen.ask(valid=1.0)
    kitchen.now += 0.9
    assert kitchen.ask(valid=1.0) == 1
    kitchen.now += 0.2
    assert kitchen.ask(valid=1.0) == 2


@pytest.mark.parametrize(("takes", "rest"), [(0.1, 0.3), (10.0, 0.5)])
def test_what_takes_long_rests_whatever_has_changed(takes, rest):
    kitchen = Kitchen(takes)
    kitchen.ask(1)
    kitchen.now += rest - 0.01
    assert kitchen.ask(2) == 1
    kitchen.now += 0.02
    assert kitchen.ask(2) == 2


def test_what_is_made_from_a_value_that_rests_is_made_again_when_that_has_rested():
    kitchen, menus = Kitchen(0.1), []

    def menu() -> int:
        menus.append(kitchen.ask(kitchen.version))
        return menus[-1]

    def look(version: int) -> int:
        kitchen.version = version
        return kitchen.kept.value("menu", version, math.inf, menu)

    kitchen.ask(1)
    assert look(2) == 1  # the dish rests, and the menu does not
    kitchen.now += 1.0
    assert look(2) == 2
    kitchen.now += 1.0
    assert look(2) == 2
    assert menus == [1, 2]


def test_names_do_not_share_values():
    kitchen = Kitchen()
    assert [kitchen.ask(name="a"), kitchen.ask(name="b"), kitchen.ask(name="a")] == [1, 2, 1]


def test_the_value_that_was_not_asked_for_the_longest_is_forgotten():
    kitchen = Kitchen()
    for number in range(MOST + 1):
        kitchen.ask(name=str(number))
        kitchen.ask(name="0" if number < MOST else "1")
    assert kitchen.made == MOST + 2


def test_a_failure_is_not_kept():
    kept = Remembered(lambda: 1.0)

    def fail() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kept.value("dish", 1, math.inf, fail)
    assert kept.value("dish", 1, math.inf, lambda: 7) == 7


def test_two_threads_that_ask_at_once_have_it_computed_once():
    kept, begun, go_on = Remembered(lambda: 1.0), threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        begun.set()
        go_on.wait(30)
        made.append(1)
        return len(made)

    def ask() -> None:
        kept.value("dish", 1, math.inf, make)

    threads = [threading.Thread(target=ask, daemon=True) for _number in range(2)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert made == [1]
