# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launcher of Nodepool beside ours adds to a run: requests for what it offers, and strikes on it."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.chaos.schedule import BETWEEN_REQUESTS, Action, moments, request

STOCK = "stock"
"""The name of its host."""
WANTED: dict[tuple[str, ...], int] = {
    ("theirs",): 25,
    ("theirs", "theirs"): 8,
    ("machine",): 15,
    ("both",): 30,
    ("both", "both", "both"): 6,
    ("both", "small"): 8,
    ("both", "theirs"): 6,
    ("small", "theirs"): 2,
}
"""Labels of a request, with its share. Nobody has all of the last."""
STRIKES = {"kill": 30, "stop": 15, "freeze": 25, "cut": 10, "silence": 12, "refuse": 8}
ENDS = {"kill": "start", "stop": "start", "freeze": "thaw", "silence": "heal", "refuse": "heal"}
BETWEEN_STRIKES = 20.0
LONGEST = 25.0
"""Longer than its session lives."""


def beside_schedule(seed: int, seconds: float, load: float = 1.0) -> list[Action]:
    """These actions, in their order; the other ones of the seed do not depend on them. *load*: see :func:`schedule`."""
    chance = random.Random(f"{seed} beside")
    return sorted([*_requests(chance, seconds, load), *_strikes(chance, seconds)], key=lambda action: action.at)


def _requests(chance: random.Random, seconds: float, load: float) -> Iterator[Action]:
    for at in moments(chance, seconds, BETWEEN_REQUESTS / load):
        labels = chance.choices(list(WANTED), list(WANTED.values()))[0]
        yield request(chance, at, list(labels), load)


def _strikes(chance: random.Random, seconds: float) -> Iterator[Action]:
    """One after the other, each with its end."""
    at = chance.expovariate(1 / BETWEEN_STRIKES)
    while at < seconds:
        what = chance.choices(list(STRIKES), list(STRIKES.values()))[0]
        yield Action(at, what, {"host": STOCK})
        if what in ENDS:
            at += round(min(chance.expovariate(1 / 8) + 0.5, LONGEST), 2)
            yield Action(at, ENDS[what], {"host": STOCK})
        at += 5.0 + chance.expovariate(1 / BETWEEN_STRIKES)
