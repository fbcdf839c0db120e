# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How launches from each build end: counted by image, build, flavor and owner, and bounded."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch_counts import (
    LONGEST_WORDS,
    MOST_BUILDS,
    MOST_FLAVORS,
    MOST_IMAGES,
    OF_IMAGE,
    OF_OTHERS,
    OTHER,
    PLACE,
    READY,
    RECENT,
    SILENT,
    Attempt,
    BuildCounts,
    LaunchCounts,
    sentence,
    sentence_with_words,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument


def add(
    counts: LaunchCounts, build: str, result: str, times: int = 1, *, image: str = "tiny", at: float = 50.0
) -> None:
    for _unused in range(times):
        end = READY if result == READY else OF_IMAGE
        counts.add("tiny", build, "small", result, at, Attempt(at - 5, at, end))


def test_a_sentence_compares_a_build_with_the_one_before() -> None:
    counts = LaunchCounts()
    add(counts, "6e" * 16, READY, 212, at=50.0)
    add(counts, "7f" * 16, "image", 9, at=90.0)
    assert (
        sentence("tiny", "7f" * 16, "west", counts)
        == "tiny build 7f7f7f7f: 0 of 9 in west; the build before: 212 of 212"
    )
    assert sentence("tiny", "6e" * 16, "west", counts) == "tiny build 6e6e6e6e: 212 of 212 in west"
    assert sentence("tiny", "55" * 16, "west", counts) == ""


def test_after_bad_days_a_build_is_compared_with_the_one_that_has_worked() -> None:
    counts = LaunchCounts()
    for build, count, end, result in (
        ("good", 9, READY, READY),
        ("bad", 3, OF_IMAGE, "image"),
        ("worse", 3, OF_IMAGE, "image"),
    ):
        for number in range(count):
            at = 100.0 + number + 100 * (build != "good") + 100 * (build == "worse")
            counts.add("tiny", build, "small", result, at, Attempt(at - 5, at, end))
    assert sentence("tiny", "worse", "west", counts) == "tiny build worse: 0 of 3 in west; the build before: 9 of 9"
    assert sentence("tiny", "bad", "west", counts) == "tiny build bad: 0 of 3 in west; the build before: 9 of 9"


def test_months_of_builds_leave_the_figures_of_the_last_ones() -> None:
    counts = LaunchCounts()
    for day in range(200):
        for image in range(3):
            for flavor in range(20):
                at = 86_400.0 * day + flavor
                place = f"image-{image}", f"{day:032x}", f"flavor-{(day + flavor) % 40}"
                counts.add(*place, READY, at, Attempt(at - 5, at, READY))
    assert [len(builds) for builds in counts.images.values()] == [MOST_BUILDS] * 3
    assert list(counts.images["image-0"]) == [f"{day:032x}" for day in range(200 - MOST_BUILDS, 200)]
    assert len(json.dumps(counts.document()).encode()) < 30_000


def test_failures_are_counted_by_owner_and_flavor() -> None:
    counts = LaunchCounts()
    add(counts, "a", READY, 2)
    add(counts, "a", "image")
    counts.add("tiny", "a", "large", "capacity", 60.0, None)
    mine = counts.of("tiny", "a")
    assert (mine.tried, mine.ready, mine.failed) == (4, 2, {"capacity": 1, "image": 1})
    assert mine.flavors["large"] == {"capacity": 1}
    assert len(mine.recent) == 3 and (mine.first, mine.last) == (50.0, 60.0)


@given(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 9), st.integers(0, 15), st.booleans()), max_size=300))
def test_the_counts_are_bounded_and_come_back_as_stored(steps: list[tuple[int, int, int, bool]]) -> None:
    counts = LaunchCounts()
    for at, (image, build, flavor, good) in enumerate(steps):
        end = READY if good else OF_IMAGE
        result = READY if good else "image"
        attempt = Attempt(float(at), 1.0 + at, end, 0.5 + at, f"{at:08x}")
        counts.add(f"i{image}", f"b{build}", f"f{flavor}", result, 1.0 + at, attempt)
        assert f"b{build}" in counts.images[f"i{image}"]
    assert len(counts.images) <= MOST_IMAGES
    for builds in counts.images.values():
        assert len(builds) <= MOST_BUILDS
        assert all(len(known.flavors) <= MOST_FLAVORS + 1 and len(known.recent) <= RECENT for known in builds.values())
    document = json.loads(json.dumps(counts.document()))
    assert LaunchCounts.from_document(document).document() == counts.document()


def test_a_flavor_too_many_is_counted_with_the_others() -> None:
    counts = LaunchCounts()
    for number in range(MOST_FLAVORS + 3):
        counts.add("tiny", "a", f"f{number}", READY, 1.0, None)
    assert counts.of("tiny", "a").flavors[OTHER] == {READY: 3}


def test_the_largest_document_fits_into_a_znode() -> None:
    counts = LaunchCounts()
    for image in range(MOST_IMAGES):
        for build in range(MOST_BUILDS):
            for flavor in range(MOST_FLAVORS + 1):
                for end, result in ((READY, READY), (OF_IMAGE, "image"), (OF_IMAGE, "unknown")):
                    attempt = Attempt(1_795_000_000.123, 1_795_000_060.123, end, 1_795_000_020.123, "0" * PLACE)
                    names = f"image-{image:040}", f"{build:032x}", f"flavor-{flavor:040}"
                    counts.add(*names, result, 1.0, attempt, "\N{SNOWMAN}" * 2 * LONGEST_WORDS)
    assert len(json.dumps(counts.document()).encode()) < 700_000


@pytest.mark.parametrize(
    "document",
    [
        {"tiny": []},
        {"tiny": {"a": 1}},
        {"tiny": {"a": {"flavors": []}}},
        {"tiny": {"a": {"flavors": {"small": {"ready": -1}}}}},
        {"tiny": {"a": {"flavors": {"small": {"ready": "many"}}}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2]]}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "odd"]]}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "ready", "3"]]}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "ready", 3, 4]]}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "ready", 3, "far too long"]]}}},
        {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "ready", 3, "here", 5]]}}},
        {"tiny": {"a": {"flavors": {}, "first": None}}},
    ],
)
def test_a_document_that_cannot_be_used_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(BadDocument, match="tiny"):
        LaunchCounts.from_document(document)


def test_the_words_of_the_last_failure_that_may_lie_in_the_image_are_kept() -> None:
    counts = LaunchCounts()
    for end, words in ((OF_IMAGE, "first"), (SILENT, "no answer\nby ssh"), (OF_OTHERS, "no room"), (READY, "")):
        counts.add("tiny", "a", "small", READY if end == READY else "image", 2.0, Attempt(1.0, 2.0, end), words)
    counts.add("tiny", "a", "small", "capacity", 2.0, None, "no quota")
    again = LaunchCounts.from_document(json.loads(json.dumps(counts.document())))
    for known in (counts, again):
        told = "tiny build a: 1 of 5 in west; the last failure: no answer by ssh"
        assert sentence_with_words("tiny", "a", "west", known) == told
    odd = {"tiny": {"a": {"flavors": {"small": {"image": 1}}, "failure": 5}}}
    assert sentence_with_words("tiny", "a", "west", LaunchCounts.from_document(odd)) == "tiny build a: 0 of 1 in west"


def test_attempts_of_earlier_versions_have_no_time_of_active_and_no_place() -> None:
    document = {"tiny": {"a": {"flavors": {}, "recent": [[1, 2, "ready"], [1, 4, "ready", 3]]}}}
    found = LaunchCounts.from_document(document).of("tiny", "a").recent
    assert found == [Attempt(1.0, 2.0, READY), Attempt(1.0, 4.0, READY, 3.0)]


def test_a_burst_does_not_push_out_what_was_before_it():
    counts, place = BuildCounts(), "here"
    for at in range(0, 400, 100):
        counts.add("small", READY, at, Attempt(at, at + 20, READY, at + 15.0, place))
    for number in range(200):
        counts.add("small", READY, 440, Attempt(420, 440.0 + number / 100, READY, 430.0 + number / 20, place))
    assert len(counts.recent) == RECENT
    boots = [one.active for one in counts.recent]
    assert boots[:4] == [15.0, 115.0, 215.0, 315.0] and boots[-1] == 430.0 + 199 / 20
    assert max(after - before for before, after in pairwise(boots[4:])) < 3, "spread over the burst"


def test_failures_are_only_pushed_out_by_later_attempts_that_are_far_apart():
    counts = BuildCounts()
    counts.add("small", OF_IMAGE, 50, Attempt(0, 50, OF_IMAGE, 10.0, "here"))
    for number in range(100):
        counts.add("small", READY, 60, Attempt(40, 60, READY, 50.0 + number / 100, "here"))
    assert counts.recent[0].end == OF_IMAGE
    for number in range(100):
        at = 1000.0 * number
        counts.add("small", READY, at, Attempt(at, at + 60, READY, at + 50, "here"))
    assert {one.end for one in counts.recent} == {READY} and len(counts.recent) == RECENT
