# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens in a run, from a seed: load, faults of clouds, kills, partitions, changes of the configuration.

The schedule is made before the run and does not depend on what happens in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PROVIDERS = ("east", "west")
HOSTS = ("one", "two")
LABELS = ("small", "medium", "large")
BUILDERS = {"wide": ("tiny", "extra"), "narrow": ("tiny",)}
"""Builder → the images that it lists."""
UPLOAD_FILE = "PUT /images/{id}/file"
HABITS = {"use": 50, "cancel": 12, "late": 8, "hold": 8, "vanish": 8, "lock-only": 5, "reprioritise": 9}
"""What a requestor does with its request, with its share."""
BETWEEN_REQUESTS = 2.5
BETWEEN_TROUBLES = 4.0
BETWEEN_STRIKES = 9.0
BETWEEN_BUILDS = 20.0
BETWEEN_TYPOS, TYPO_SECONDS = 60.0, 40.0
POST, DELETE, LIST = "POST /servers", "DELETE /servers/{id}", "GET /servers/detail*"
CALLS = (POST, DELETE, LIST, "GET /servers/{id}", "* /floatingips*", "GET /limits", "* /images*", "*")
FAULTS: tuple[tuple[str | None, str, dict[str, Any]], ...] = (
    (POST, "quota", {"probability": 0.5}),
    (POST, "status", {"status": 500, "probability": 0.5}),
    (POST, "status_after", {"status": 503, "probability": 0.5}),
    (POST, "hang", {"probability": 0.3}),
    (POST, "hang_after", {"probability": 0.3}),
    (POST, "slow", {"seconds": 5.0, "probability": 0.5}),
    (POST, "reset_after", {"probability": 0.4}),
    (None, "error", {"probability": 0.3, "seconds": 0.5}),
    (None, "error_quota", {"probability": 0.3}),
    (None, "stuck_build", {"probability": 0.1}),
    (None, "no_address", {"probability": 0.1}),
    (DELETE, "status", {"status": 500, "probability": 0.6}),
    (DELETE, "status_after", {"status": 502, "probability": 0.6}),
    (None, "lost_delete", {"probability": 0.3}),
    (LIST, "status", {"status": 503, "probability": 0.7}),
    (LIST, "garbage", {"probability": 0.5}),
    (LIST, "slow", {"seconds": 4.0}),
    ("* /floatingips*", "status", {"status": 500, "probability": 0.6}),
    ("* /floatingips*", "status_after", {"status": 504, "probability": 0.6}),
    ("*", "status", {"status": 503, "probability": 0.3}),
    ("*", "reset", {"probability": 0.2}),
    ("*", "hang", {"probability": 0.1}),
)


@dataclass(frozen=True)
class Action:
    """Something that is done *at* so many seconds after the beginning."""

    at: float
    what: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.at:8.2f} {self.what} {' '.join(f'{key}={value}' for key, value in self.options.items())}"


def schedule(seed: int, seconds: float, load: float = 1.0, hosts: Sequence[str] = HOSTS) -> list[Action]:
    """All actions of a run, in their order.

    :param load: so many times as many requests, which keep their nodes so many times shorter; troubles and strikes are
        as many as without.
    :param hosts: those with a launcher of ours, which are struck.
    """
    chance = random.Random(seed)
    typos = list(_typos(chance, seconds))
    made = [*_requests(chance, seconds, load), *_troubles(chance, seconds, typos), *_strikes(chance, seconds, hosts)]
    made += _builds(chance, seconds)
    for begin, end in typos:
        made += [Action(begin, "typo", {"lasts": end - begin}), Action(end, "typo-over")]
    return sorted(made, key=lambda action: action.at)


def moments(chance: random.Random, seconds: float, distance: float) -> Iterator[float]:
    """Moments that are so far apart in the mean."""
    at = chance.expovariate(1 / distance)
    while at < seconds:
        yield at
        at += chance.expovariate(1 / distance)


def _requests(chance: random.Random, seconds: float, load: float) -> Iterator[Action]:
    for at in moments(chance, seconds, BETWEEN_REQUESTS / load):
        for _request in range(chance.choices([1, 2, 6], [85, 12, 3])[0]):
            many = chance.choices([1, 2, 3, 5], [72, 16, 8, 4])[0]
            labels = [chance.choices([*LABELS, "unheard-of"], [60, 25, 14, 1])[0]] * many
            yield request(chance, at, labels, load)


def request(chance: random.Random, at: float, labels: list[str], load: float) -> Action:
    """A request for these labels by somebody with a habit."""
    options = {
        "labels": labels,
        "habit": chance.choices(list(HABITS), list(HABITS.values()))[0],
        "priority": chance.choice([100, 200, 300]),
        "relative": chance.choice([0, 0, 1, 5]),
        "tenant": chance.choice(["one", "two"]),
        "wait": round(chance.expovariate(1 / 6), 2),
        "work": round(chance.expovariate(1 / 8) / load, 2),
    }
    return Action(at, "ask", options)


def _typos(chance: random.Random, seconds: float) -> Iterator[tuple[float, float]]:
    """Spans in which nodepool.yaml cannot be used; a cycle lasts for less. In them the clouds are well."""
    over = 0.0
    for at in moments(chance, seconds, BETWEEN_TYPOS):
        if at > over + TYPO_SECONDS:
            over = at + TYPO_SECONDS
            yield at, over


def _troubles(chance: random.Random, seconds: float, typos: Sequence[tuple[float, float]]) -> Iterator[Action]:
    for at in moments(chance, seconds, BETWEEN_TROUBLES):
        cloud = chance.choice(PROVIDERS)
        lasts = round(min(chance.expovariate(1 / 8) + 1, 25.0), 2)
        if any(begin < at + lasts and at < end for begin, end in typos):
            continue
        kind = chance.choices(
            ["fault", "limits", "others", "image", "cells", "latency", "tokens", "configure", "strangers"],
            [55, 8, 8, 4, 5, 6, 3, 11, 8],
        )[0]
        if kind == "fault":
            calls, fault, options = chance.choice(FAULTS)
            yield Action(at, "fault", {"cloud": cloud, "calls": calls, "fault": fault, "lasts": lasts, **options})
        elif kind == "strangers":
            yield Action(at, "strangers", {"provider": cloud, "number": chance.randint(1, 4), "lasts": lasts})
        elif kind == "tokens":
            yield Action(at, "tokens", {"cloud": cloud})
        elif kind == "configure":
            change = chance.choice(["no-servers", "few-servers", "fewer-labels", "without", "more-labels", "broken"])
            yield Action(at, "configure", {"change": change, "provider": cloud})
            yield Action(at + lasts, "configure", {"change": "whole", "provider": cloud})
        else:
            number = chance.randint(1, 6)
            yield Action(at, kind, {"cloud": cloud, "number": number})
            yield Action(at + lasts, f"{kind}-over", {"cloud": cloud, "number": number})


def _strikes(chance: random.Random, seconds: float, hosts: Sequence[str]) -> Iterator[Action]:
    for at in moments(chance, seconds, BETWEEN_STRIKES):
        host = chance.choice(hosts)
        strike = chance.choices(
            ["kill", "stop", "freeze", "cut", "silence", "refuse", "zookeeper"], [30, 10, 20, 10, 12, 8, 10]
        )[0]
        lasts = round(min(chance.expovariate(1 / 5) + 0.5, 15.0), 2)
        if strike in ("kill", "stop", "cut"):
            yield Action(at, strike, {"host": host})
        elif strike == "zookeeper":
            yield Action(at, "zookeeper", {"kill": chance.random() < 0.5, "down": min(lasts, 3.0)})
        else:
            yield Action(at, strike, {"host": host})
            yield Action(at + lasts, "thaw" if strike == "freeze" else "heal", {"host": host})


def _builds(chance: random.Random, seconds: float) -> Iterator[Action]:
    """Builds that are uploaded; in the middle of some uploads the builder is killed."""
    for at in moments(chance, seconds, BETWEEN_BUILDS):
        builder = chance.choice(sorted(BUILDERS))
        hangs = chance.choice([None, *PROVIDERS])
        yield Action(at, "build", {"builder": builder, "image": chance.choice(BUILDERS[builder]), "hangs": hangs})
        if chance.random() < 0.6:
            yield Action(at + chance.uniform(0.5, 5.0), "kill-builder", {"builder": builder})
