# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which build is used, by the attempts that have ended: properties, and the rows that decide."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.build_choice import (
    COMPARED,
    ENOUGH,
    LATE,
    LEAST_LATE,
    SERVED,
    SLOW,
    TRIALS,
    Candidate,
    Waiting,
    beside_at,
    choose,
    find,
    late_at,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch_counts import (
    OF_IMAGE,
    OF_OTHERS,
    READY,
    SILENT,
    Attempt,
)

NOW = 10_000.0


def attempts(*ends: tuple[float, float, str]) -> list[Attempt]:
    return [Attempt(NOW + began, NOW + ended, end) for began, ended, end in ends]


BAD = attempts((-60, -10, OF_IMAGE), (-60, -9, OF_IMAGE), (-60, -8, OF_IMAGE))
GOOD = attempts((-60, -40, READY), (-60, -39, READY), (-60, -38, READY))
FAILED = attempts((-60, -10, OF_IMAGE), (-60, -9, OF_IMAGE), (-60, -8, OF_IMAGE))
CUT_OFF = attempts((-60, -10, OF_OTHERS), (-60, -9, OF_OTHERS))
some = st.lists(
    st.builds(
        lambda ended, took, end, place: Attempt(NOW - ended - took, NOW - ended, end, place=place),
        st.floats(0, 4000),
        st.floats(1, 120),
        st.sampled_from([READY, OF_IMAGE, OF_OTHERS, SILENT]),
        st.sampled_from(["", "here", "there"]),
    ),
    max_size=16,
)
nothing_ready = some.map(lambda found: [one for one in found if one.end != READY])


def at(place: str, *ends: tuple[float, float, str]) -> list[Attempt]:
    return [replace(one, place=place) for one in attempts(*ends)]


def new(recent: list[Attempt], **more: object) -> Candidate:
    ready = sum(1 for one in recent if one.end == READY)
    return Candidate(**{"build": "new", "ready": ready, "recent": recent, **more})  # type: ignore[arg-type]


def old(recent: list[Attempt], **more: object) -> Candidate:
    return Candidate(**{"build": "old", "ready": 200, "recent": recent, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mine", "before", "others", "is_bad"),
    [
        (BAD, GOOD, [], True),
        (BAD, [], GOOD, True),
        (BAD[:-1], GOOD, [], False),
        (BAD, [], [], False),
        (BAD, FAILED, [], False),
        (BAD, [], CUT_OFF, False),
        (BAD, GOOD, FAILED, False),
        ([*BAD, *attempts(*[(-60, -5, READY)] * 4)], GOOD, [], False),
        (attempts((-60, -10, OF_OTHERS), (-60, -9, OF_OTHERS), (-60, -8, OF_OTHERS)), GOOD, [], False),
        (attempts((-60, -10, SILENT), (-60, -9, SILENT), (-60, -8, SILENT)), GOOD, [], False),
        # One after the other: each failure is between two successes of the build before.
        (
            attempts((-500, -440, OF_IMAGE), (-400, -340, OF_IMAGE), (-300, -240, OF_IMAGE)),
            attempts((-520, -501, READY), (-430, -410, READY), (-330, -310, READY), (-230, -210, READY)),
            [],
            True,
        ),
        # An outage that only met the new build: all failures are between the same two successes.
        (
            attempts((-500, -440, OF_IMAGE), (-400, -340, OF_IMAGE), (-300, -240, OF_IMAGE)),
            attempts((-520, -501, READY), (-230, -210, READY)),
            [],
            False,
        ),
    ],
)
def test_what_gives_a_build_up(mine: list[Attempt], before: list[Attempt], others: list[Attempt], is_bad: bool) -> None:
    found = find(new(mine), old(before), others, NOW)
    assert found.is_bad is is_bad
    if is_bad:
        assert choose([new(mine), old(before)], others, 1, NOW) == "old"


@given(some, nothing_ready, nothing_ready)
def test_without_a_success_of_others_no_build_is_given_up(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt]
) -> None:
    assert not find(new(mine), old(before), others, NOW).is_bad


@given(some, some, some, st.integers(0, 10), st.integers(1, 5))
def test_without_a_build_that_has_worked_the_newest_is_used(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt], under_way: int, size: int
) -> None:
    candidates = [new(mine, under_way=under_way), old(before, ready=0)]
    assert choose(candidates, others, size, NOW) == "new"
    assert choose(candidates[:1], others, size, NOW) == "new"


@given(some, some, some, st.integers(0, 10), st.integers(1, 5))
def test_what_a_person_has_approved_is_used(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt], under_way: int, size: int
) -> None:
    assert choose([new(mine, trusted=True, under_way=under_way), old(before)], others, size, NOW) == "new"


@given(some, some, some)
def test_what_happened_before_a_person_restored_it_counts_no_more(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt]
) -> None:
    assert find(new(mine, since=NOW), old(before), others, NOW).failures == []


@given(some, some, some, st.randoms())
def test_the_choice_depends_on_nothing_but_its_input(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt], chance: object
) -> None:
    first = choose([new(mine), old(before)], others, 1, NOW)
    for found in (mine, before, others):
        chance.shuffle(found)  # type: ignore[attr-defined]
    assert choose([new(mine), old(before)], others, 1, NOW) == first


@pytest.mark.parametrize(("failures", "most"), [(0, TRIALS), (1, TRIALS - 1), (2, 1)])
def test_a_build_that_has_not_worked_yet_is_tried_by_few(failures: int, most: int) -> None:
    mine = attempts(*[(-60.0, -10.0, OF_IMAGE)] * failures)
    before = [*GOOD, *attempts((-30, -5, READY))]

    def chosen(under_way: int, size: int = 1) -> str:
        return choose([new(mine, under_way=under_way), old(before)], [], size, NOW)

    assert [chosen(count) for count in range(most + 1)] == ["new"] * most + ["old"]
    assert chosen(0, 10) == "new" and chosen(1, 10) == "old"


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200))
def test_few_servers_are_lost_whatever_the_order_in_which_launches_begin_and_end(steps: list[int]) -> None:
    """A broken build: 0 begins a launch, other numbers end the oldest one of the new or of the old build."""
    mine: list[Attempt] = []
    before = list(GOOD)
    under_way: dict[str, list[float]] = {"new": [], "old": []}
    lost, now = 0, NOW
    for step in steps:
        now += 5
        if step == 0:
            candidates = [new(mine, under_way=len(under_way["new"])), old(before[-16:])]
            under_way[choose(candidates, [], 1, now)].append(now)
        elif step == 1 and under_way["old"]:
            before.append(Attempt(under_way["old"].pop(0), now, READY))
        elif under_way["new"]:
            mine = [*mine, Attempt(under_way["new"].pop(0), now, OF_IMAGE)][-16:]
            lost += 1
        if find(new(mine), old(before[-16:]), [], now).is_bad:
            assert lost + len(under_way["new"]) <= ENOUGH + TRIALS
            return


def quick(began: float, *, count: int = COMPARED, took: float = 25.0, booted: float = 20.0) -> list[Attempt]:
    """Launches from the build before whose guests need *took* - *booted* seconds after ACTIVE."""
    return [Attempt(began, began + took, READY, began + booted)] * count


TRIED = Waiting(NOW - 60, NOW - 40)


@pytest.mark.parametrize(
    ("before", "beside", "expected"),
    [
        (quick(NOW - 60), [], NOW - 40 + LEAST_LATE),
        (quick(NOW - 60, took=40), [], NOW - 40 + LATE * 20),
        # Nothing was launched after it, or too little.
        (quick(NOW - 61), [], None),
        (quick(NOW - 60, count=COMPARED - 1), [], None),
        # The cloud was in trouble meanwhile.
        ([*quick(NOW - 60), Attempt(NOW - 70, NOW - 30, OF_IMAGE)], [], None),
        ([*quick(NOW - 60), Attempt(NOW - 70, NOW - 30, OF_OTHERS)], [], None),
        ([*quick(NOW - 60), Attempt(NOW - 90, NOW - 61, OF_IMAGE)], [], NOW - 40 + LEAST_LATE),
        # The cloud is slow now: others wait longer than ever.
        (quick(NOW - 60), [Waiting(NOW - 30, NOW - 6)], None),
        (quick(NOW - 60), [Waiting(NOW - 30, NOW - 4)], NOW - 40 + LEAST_LATE),
        # Earlier launches were slower.
        ([*quick(NOW - 60), *quick(NOW - 900, took=50)], [], NOW - 40 + LATE * 30),
        # Documents of earlier versions do not know when a server was ACTIVE.
        ([Attempt(NOW - 60, NOW - 35, READY)] * 3, [], None),
    ],
)
def test_when_a_guest_is_late(before: list[Attempt], beside: list[Waiting], expected: float | None) -> None:
    assert late_at(TRIED, old(before), beside, NOW) == expected


@given(some, st.lists(st.floats(0, 600).map(lambda ago: Waiting(NOW - ago - 20, NOW - ago)), max_size=4))
def test_no_guest_is_late_when_later_launches_from_the_build_before_are_not_ready(
    before: list[Attempt], beside: list[Waiting]
) -> None:
    later = [one for one in before if one.began >= TRIED.began and one.end == READY]
    if len(later) < COMPARED:
        assert late_at(TRIED, old(before), beside, NOW) is None
    told = [Attempt(one.began, one.ended, one.end, one.began) for one in before]
    found = late_at(TRIED, old(told), beside, NOW)
    if any(one.end != READY and one.ended >= TRIED.began for one in before):
        assert found is None
    assert found is None or found >= TRIED.active + LEAST_LATE


@given(some, st.floats(0, 1), st.floats(1, 300))
def test_a_cloud_that_becomes_slow_for_all_makes_no_guest_late(
    before: list[Attempt], active: float, more: float
) -> None:
    """A launch from the build before that began with the new one waits as long: nothing is said of the build."""
    told = [Attempt(one.began, one.ended, one.end, one.began) for one in before]
    now = TRIED.active + LEAST_LATE + more
    found = late_at(TRIED, old(told), [Waiting(TRIED.began, TRIED.active + active)], now)
    assert found is None or found > now


EARLIER = [Attempt(NOW - 900, NOW - 860, READY, NOW - 880)]
"""The build before needs 40 s for a boot with an answer, 20 s of them from ACTIVE to the answer."""
BESIDE = NOW - 60 + SERVED - SLOW * 40


@pytest.mark.parametrize(
    ("before", "beside", "passed", "expected"),
    [
        (EARLIER, [], 0.0, BESIDE),
        (EARLIER, [], SLOW * 40, BESIDE),
        # Late ones are late; the launch of a quick cloud has ended by then.
        (EARLIER, [], SLOW * 40 + 1, None),
        ([Attempt(NOW - 900, NOW - 875, READY, NOW - 880)], [], 0.0, None),
        # Nothing would be in time: at once.
        ([Attempt(NOW - 900, NOW - 800, READY, NOW - 880)], [], 0.0, NOW - 60),
        # What is known only now may be the same trouble.
        ([*EARLIER, Attempt(NOW - 200, NOW - 59, READY, NOW - 80)], [], 1.0, BESIDE),
        ([Attempt(NOW - 200, NOW - 59, READY, NOW - 80)], [], 1.0, None),
        # The cloud is in trouble, or slow: others fail or wait as well.
        ([*EARLIER, Attempt(NOW - 90, NOW - 55, OF_OTHERS)], [], 5.0, None),
        (EARLIER, [Waiting(NOW - 120, NOW - 60 - SLOW * 20)], 5.0, None),
        (EARLIER, [Waiting(NOW - 120, NOW - 54 - SLOW * 20)], 5.0, BESIDE),
    ],
)
def test_when_nodes_of_the_build_before_are_launched_beside(
    before: list[Attempt], beside: list[Waiting], passed: float, expected: float | None
) -> None:
    assert beside_at(Waiting(NOW - 60), old(before), beside, NOW - 60 + passed) == expected


@given(some, st.integers(0, 10), st.integers(1, 5))
def test_while_a_guest_is_late_no_further_launch_tries_the_build(
    before: list[Attempt], under_way: int, size: int
) -> None:
    assert choose([new([], under_way=under_way, late=True), old(before)], [], size, NOW) == "old"


WORKED_THEN_SILENT = attempts((-900, -880, READY), (-160, -100, SILENT), (-90, -30, SILENT))


@pytest.mark.parametrize(
    ("mine", "before", "others", "under_way", "expected"),
    [
        # Two in a row: one launch from the build before shows whether anything answers.
        (WORKED_THEN_SILENT, [], [], (0, 0), "old"),
        (WORKED_THEN_SILENT, [], [], (0, 1), "new"),
        # Another image may be in another network: it is no comparison.
        (WORKED_THEN_SILENT, [], attempts((-28, -10, READY)), (0, 0), "old"),
        # Nothing answers: an outage.
        (WORKED_THEN_SILENT, attempts((-28, -10, SILENT)), [], (0, 0), "new"),
        (WORKED_THEN_SILENT, attempts((-28, -10, SILENT)), [], (TRIALS, 0), "new"),
        # The build before answers: the build is tried like a new one.
        (WORKED_THEN_SILENT, attempts((-28, -10, READY)), [], (0, 0), "new"),
        (WORKED_THEN_SILENT, attempts((-28, -10, READY)), [], (TRIALS, 0), "old"),
        # It answers again.
        ([*WORKED_THEN_SILENT, *attempts((-20, -5, READY))], attempts((-28, -10, READY)), [], (TRIALS, 0), "new"),
        # What no server was ACTIVE for is not the guest.
        (attempts((-900, -880, READY), (-160, -100, OF_OTHERS), (-90, -30, OF_OTHERS)), [], [], (0, 0), "new"),
        (WORKED_THEN_SILENT[:-1], [], [], (0, 0), "new"),
    ],
)
def test_a_build_that_has_worked_and_is_silent_is_compared(
    mine: list[Attempt], before: list[Attempt], others: list[Attempt], under_way: tuple[int, int], expected: str
) -> None:
    candidates = [new(mine, under_way=under_way[0]), old(before, under_way=under_way[1])]
    assert choose(candidates, others, 1, NOW) == expected


ROUNDS = [(began, began + 60.0, SILENT) for began in (-500.0, -400.0, -300.0)]
ANSWERS = [(ended - 20.0, ended, READY) for ended in (-501.0, -405.0, -305.0, -205.0)]


@pytest.mark.parametrize(
    ("before", "others", "worked_again", "is_bad"),
    [
        (at("here", *ANSWERS), [], [], True),
        ([], at("here", *ANSWERS), [], True),
        # In other networks others answer, whatever this one does.
        (at("there", *ANSWERS), [], [], False),
        (attempts(*ANSWERS), [], [], False),
        (at("there", *ANSWERS), at("there", *ANSWERS), [], False),
        # An outage that the build before did not meet because it was not tried.
        (at("here", ANSWERS[0], ANSWERS[-1]), [], [], False),
        # It met both.
        (at("here", *ANSWERS, *((began, ended - 1, SILENT) for began, ended, _end in ROUNDS)), [], [], False),
        # The build answers somewhere.
        (at("here", *ANSWERS), [], at("there", (-230, -210, READY)), False),
    ],
)
def test_silence_counts_against_a_build_only_if_others_answer_in_the_same_networks(
    before: list[Attempt], others: list[Attempt], worked_again: list[Attempt], is_bad: bool
) -> None:
    mine = [*at("here", (-900, -880, READY), *ROUNDS), *worked_again]
    assert find(new(mine), old(before), others, NOW).is_bad is is_bad


def test_an_outage_of_several_zones_counts_once() -> None:
    zones = ("az1", "az2", "az3", "az4")
    mine = [one for zone in zones for one in at(zone, (-200, -140, SILENT))]
    before = [one for zone in zones for one in at(zone, (-230, -210, READY), (-130, -110, READY))]
    found = find(new(mine), old(before), [], NOW)
    assert (len(found.failures), found.confirmed, found.is_bad) == (4, 1, False)
