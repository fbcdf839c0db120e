# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the server list is read, and how soon a server that is up is noticed: simulated, boots normal(20, 2)."""

from __future__ import annotations

import random
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.polling import (
    CALM,
    CALM_IN_CROWD,
    CROWD,
    FEW,
    LATELY,
    LEISURE,
    LEISURE_MOST,
    NEWS_MOST,
    QUICK,
    QUICK_WHEN_FULL,
    SAMPLES,
    TRIAL_OVER,
    UNKNOWN_BOOT,
    Times,
    news_in,
    patient_due,
    trial_due,
    unclear_due,
    watch_due,
)

LISTING = 0.3


@dataclass
class Run:
    """What a simulation counted. Delays are seconds from ACTIVE until the listing that shows it has ended."""

    listings: int = 0
    delays: list[float] = field(default_factory=list)
    times: Times = field(default_factory=Times)

    @property
    def median(self) -> float:
        return statistics.median(self.delays)

    @property
    def last(self) -> float:
        return sorted(self.delays)[int(0.99 * len(self.delays))]


def simulate(starts: list[float], boot: Callable[[], float], known: Times | None = None) -> Run:
    run = Run()
    if known is not None:
        run.times.samples.extend(known.samples)
    up: dict[float, float] = {}
    waiting, now, listed = sorted(starts), 0.0, -1e9
    while waiting or up:
        while waiting and waiting[0] <= now:
            start = waiting.pop(0)
            up[start] = start + boot()
        next_look = now + max(0.0, watch_due([now - start for start in up], now - listed, run.times))
        if waiting and waiting[0] < next_look:
            now = waiting[0]
            continue
        listed = now = next_look
        now += LISTING
        run.listings += 1
        assert run.listings < 100_000
        for start in [start for start, active in up.items() if active <= listed]:
            run.delays.append(now - up.pop(start))
            run.times.add(now - start)
    return run


def normal(seed: int) -> Callable[[], float]:
    chance = random.Random(seed)
    return lambda: chance.gauss(20, 2)


@pytest.fixture(scope="module")
def known() -> Times:
    return simulate([number * 0.05 for number in range(100)], normal(7)).times


@pytest.mark.parametrize("seed", range(3))
def test_the_first_burst_of_a_hundred_knows_nothing_and_is_cheap_all_the_same(seed):
    run = simulate([number * 0.05 for number in range(100)], normal(seed))
    assert run.listings <= 45
    assert run.median <= 1.0 and run.last <= 3.0


@pytest.mark.parametrize("seed", range(3))
def test_a_burst_of_a_hundred(seed, known):
    run = simulate([number * 0.05 for number in range(100)], normal(seed), known)
    assert run.listings <= 22
    assert run.median <= 0.8 and run.last <= 1.9


@pytest.mark.parametrize("seed", range(3))
def test_ten_in_flight_all_the_time(seed, known):
    run = simulate([number * 2.0 for number in range(200)], normal(seed), known)
    assert run.listings <= 1.5 * 200, "with a create and a delete: about three and a half calls for a node"
    assert run.median <= 1.3 and run.last <= 1.9


@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_in_flight_all_the_time(seed, known):
    run = simulate([number * 0.2 for number in range(1000)], normal(seed), known)
    assert run.listings <= 0.3 * 1000, "with a create and a delete: 2.3 calls for a node"
    assert run.median <= 0.8 and run.last <= 1.4


@pytest.mark.parametrize("seed", range(3))
def test_twenty_in_flight_whose_times_differ_widely(seed):
    """A node a second."""
    chance = random.Random(seed)
    starts, at = [], 0.0
    for _unused in range(100):
        at += chance.expovariate(1.0)
        starts.append(at)
    run = simulate(starts, lambda: chance.gauss(20, 5))
    assert run.listings <= 100
    assert run.median <= 1.2 and run.last <= 3.0


@pytest.mark.parametrize("seed", range(3))
def test_one_alone(seed, known):
    run = simulate([number * 100.0 for number in range(50)], normal(seed), known)
    assert run.listings <= 8 * 50
    assert run.median <= 1.25 and run.last <= 3.0


def test_a_server_that_is_stuck_is_looked_at_ever_more_rarely(known):
    run = simulate([0.0], lambda: 3600.0, known)
    assert run.listings <= 200
    assert run.delays[0] <= 31.0


def test_a_server_that_fails_early_is_seen_early_at_the_price_of_one_look(known):
    run = simulate([0.0], lambda: 1.0, known)
    assert run.listings <= 2
    assert 0.0 < run.delays[0] <= 5.0


def test_nothing_to_watch_is_never_due(known):
    assert watch_due([], 1000.0, known) == float("inf")
    assert watch_due([], 1000.0, Times()) == float("inf")


@pytest.mark.parametrize(
    ("age", "hurry", "leisure", "unknown"),
    [
        (0.0, 5.0, LEISURE_MOST, 2.0),
        (4.9, 5.0, LEISURE_MOST, 2.0),
        (16.5, 2.5, LEISURE_MOST, 2.475),
        (19.0, CALM, LEISURE_MOST, 2.85),
        (48.0, CALM, LEISURE_MOST, 7.2),
        (49.0, 2.45, LEISURE_MOST, 7.35),
        (100.0, 5.0, LEISURE_MOST, 15.0),
        (4000.0, 30.0, 30.0, 600.0),
    ],
    ids=["just sent", "young", "soon expected", "expected from here", "and until here", "overdue", "long", "stuck"],
)
def test_the_distance_of_looks_at_each_age(age, hurry, leisure, unknown):
    """Right after a look, of a provider whose servers came up within 20 to 24 s, and of one that is not known."""
    times = Times()
    times.samples.extend([20.0, 24.0])
    assert watch_due([age], 0.0, times) == pytest.approx(hurry)
    assert watch_due([age], 0.0, times, hurry=False) == pytest.approx(leisure)
    assert watch_due([age], 0.0, Times()) == watch_due([age], 0.0, Times(), hurry=False) == pytest.approx(unknown)


def test_deletions_that_nobody_waits_for_are_looked_at_more_rarely_where_they_are_slow():
    for seconds, pause in ((2.0, LEISURE), (10.0, 5.0), (60.0, LEISURE_MOST)):
        times = Times()
        times.samples.extend([seconds] * 3)
        assert watch_due([seconds], 0.0, times, hurry=False) == pytest.approx(pause)


def test_the_more_are_expected_and_the_less_their_times_differ_the_quicker_are_the_looks():
    wide, narrow = Times(), Times()
    wide.samples.extend([20.0, 30.0, 40.0])
    narrow.samples.extend([20.0, 20.1, 20.2])
    paces = [[watch_due([20.0] * number, 0.0, times) for number in (1, 5, 20, 500)] for times in (wide, narrow)]
    for found in paces:
        assert found == sorted(found, reverse=True) and found[0] <= CALM and found[-1] == QUICK
    assert paces[0][2] > paces[1][2]


def test_a_cloud_with_many_creates_to_answer_is_asked_for_a_list_that_shows_several():
    times = Times()
    times.samples.extend([0.5, 6.0, 8.0])
    for number in (3, 8):
        alone, few, many = (watch_due([6.0] * number, 0.0, times, behind=behind) for behind in (0, CROWD - 1, CROWD))
        assert alone == few <= CALM < many <= CALM_IN_CROWD
        assert watch_due([6.0] * number, 0.0, times, full=True, behind=50) <= CALM
    assert watch_due([6.0] * 500, 0.0, times, behind=50) == QUICK


def test_servers_are_looked_for_sooner_while_a_request_waits_for_their_room():
    times = Times()
    times.samples.extend([20.0, 22.0, 24.0])
    for number in (2, 5, 20, 500):
        calm, full = (watch_due([20.0] * number, 0.0, times, full=full) for full in (False, True))
        assert QUICK_WHEN_FULL <= full < calm
    assert watch_due([20.0] * 500, 0.0, times, full=True) == QUICK_WHEN_FULL


def test_what_an_earlier_cycle_has_stored_is_learned_where_it_makes_sense():
    times = Times()
    times.learn([1, 2.5, -1, "3", None, True, float("inf")])
    times.learn("12")
    assert list(times.samples) == [1.0, 2.5]


def test_the_latest_times_count():
    times = Times()
    for seconds in (100.0,) * SAMPLES + (20.004,) * SAMPLES:
        times.add(seconds)
    assert list(times.samples) == [20.0] * SAMPLES
    earliest = times.earliest()
    assert earliest is not None and 15.0 < earliest < 20.0
    assert Times().earliest() is None


@pytest.mark.parametrize(
    ("seen", "told", "counts"),
    [(3.0, 0.0, 0.5), (3.0, 1.0, 1.5), (20.4, 20.0, 20.4), (20.4, None, 20.4), (3.0, -5.0, 0.5), (0.4, 30.0, 0.4)],
    ids=["seen late", "a second", "seen at once", "not told", "clocks set back", "told late"],
)
def test_what_was_seen_late_counts_as_what_the_cloud_tells(seen, told, counts):
    times = Times()
    times.add_seen(seen, told)
    assert list(times.samples) == [counts]


def test_quick_boots_are_soon_looked_for_quickly_though_the_first_was_seen_late():
    times = Times()
    age = UNKNOWN_BOOT
    for _unused in range(3):
        times.add_seen(age, 0.0)
        age = times.earliest()
    assert age < 1.0


def test_an_unclear_create_is_looked_for_every_other_second():
    assert unclear_due(0.5) == 1.5
    assert unclear_due(3.0) < 0


@pytest.mark.parametrize(
    ("number", "usual", "hurry", "seconds"),
    [
        (FEW, 20.0, True, 0.0),
        (FEW + 1, 20.0, True, 10.0),
        (20, 20.0, True, 6.0),
        (100, 20.0, True, 1.2),
        (100, 20.0, False, 10.0),
        (1, 20.0, False, 10.0),
        (20, 300.0, True, NEWS_MOST),
        (20, None, True, 0.0),
        (0, 20.0, False, 0.0),
    ],
    ids=["few", "half the time", "six expected", "many", "at leisure", "one at leisure", "at most", "unknown", "none"],
)
def test_a_slow_list_is_read_when_it_is_expected_to_show_several(number, usual, hurry, seconds):
    times = Times()
    times.samples.extend([] if usual is None else [300.0] * LATELY + [usual] * LATELY)
    assert news_in([0.0] * number, times, hurry=hurry) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("ages", "seconds"),
    [([25.0] * 5 + [1.0] * 5, 4.0), ([25.0] * 4 + [1.0] * 6, 10.0), ([25.0] * 100, 1.2)],
    ids=["half of them", "fewer", "many"],
)
def test_the_end_of_a_burst_is_not_missed_where_the_list_is_slow(ages, seconds):
    """The control plane of a crowd of 100 had nothing to do for 4 of 9 s between two lists."""
    assert news_in(ages, Times(deque([20.0]))) == pytest.approx(seconds)


def test_what_nobody_hurries_for_is_looked_for_when_it_is_most_likely_up():
    times = Times()
    for seconds in (18.0, 20.0, 21.0, 24.0, 60.0):
        times.add(seconds)
    usual = 21.0 + 3.0
    assert patient_due([0.0], 900.0, times) == pytest.approx(usual), "no list while it cannot be up"
    assert patient_due([23.0], 23.0, times) == pytest.approx(1.0)
    assert patient_due([24.0], 24.0, times) <= 0
    assert patient_due([25.0], 1.0, times) == pytest.approx(4.0), "then every five seconds"
    assert patient_due([0.0, 24.0], 24.0, times) <= 0, "each of them counts"
    assert patient_due([3000.0], 20.0, times) == pytest.approx(10.0), "what is overdue is looked for rarely"
    assert patient_due([], 0.0, times) == float("inf")


def test_what_nobody_hurries_for_is_looked_for_every_five_seconds_while_nothing_is_known():
    assert patient_due([0.0], 900.0, Times()) == pytest.approx(5.0)
    assert patient_due([6.0], 1.0, Times()) == pytest.approx(4.0)
    assert patient_due([100.0], 1.0, Times()) == pytest.approx(14.0)


def test_a_server_that_may_fail_at_once_is_looked_at_soon_and_a_few_times():
    looks, now, listed = [], 0.0, -5.0
    while (due := trial_due([now], now - listed)) < float("inf"):
        now += max(0.0, due)
        listed = now
        looks.append(now)
        now += 0.01
    assert 1.0 <= looks[0] < 1.1 and len(looks) <= 6
    assert all(after - before <= 1.0 + before / 2 for before, after in pairwise(looks))
    assert trial_due([], 3.0) == trial_due([TRIAL_OVER + 1], 0.0) == float("inf")
    assert trial_due([0.2], 60.0) == 0.8, "a list from before the create shows nothing"
