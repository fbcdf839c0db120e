# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lives are divided among parts and days without gaps, and each part is counted once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.life_shares import (
    next_share,
    shares,
    spans,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import (
    BUILDING,
    DELETING,
    HELD,
    IDLE,
    PARTS,
    THROWN,
    USED,
    Usage,
    day_of,
    merged,
    start_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node_use import LONGEST_LIFE, NodeUse

DAY = 86400.0
T0 = 1_795_132_800.0
TIMES = st.none() | st.floats(T0 - 3 * DAY, T0 + 3 * DAY)
NAME = st.sampled_from(["", "a"])
USES = st.builds(
    NodeUse,
    st.just("0000000001"),
    label=st.just("small"),
    provider=st.just("east"),
    pool=st.just("main"),
    tenant=NAME,
    project=NAME,
    job=NAME,
    made=TIMES,
    ready=TIMES,
    taken=TIMES,
    held=TIMES,
    left=TIMES,
    gone=st.floats(T0, T0 + 4 * DAY),
    thrown=st.floats(0, 2 * DAY),
    servers=st.integers(0, 5),
    wanted=TIMES,
    warm=st.booleans(),
)
THEIRS, NOBODYS = ("t", "p", "j", "small", "east", "main"), ("", "", "", "small", "east", "main")


def life(**more: object) -> NodeUse:
    fields = {"label": "small", "provider": "east", "pool": "main", "tenant": "t", "project": "p", "job": "j"}
    return NodeUse("0000000001", **{**fields, "servers": 1, **more})  # type: ignore[arg-type]


def parts(use: NodeUse, until: float = 0.0) -> list[tuple[str, bool, float]]:
    return [(span.what, span.key == THEIRS, span.end - span.begin) for span in spans(use, until)]


def test_a_node_that_was_launched_for_its_request_and_held() -> None:
    use = life(made=100.0, ready=120.0, taken=120.0, held=420.0, left=1420.0, gone=1425.0, thrown=30.0)
    assert parts(use) == [
        (THROWN, True, 30),
        (BUILDING, True, 20),
        (USED, True, 300),
        (HELD, True, 1000),
        (DELETING, True, 5),
    ]


def test_a_spare_node_is_nobodys_until_it_is_given_to_a_request() -> None:
    use = life(made=100.0, ready=120.0, taken=720.0, left=780.0, gone=785.0, warm=True)
    assert parts(use) == [(BUILDING, False, 20), (IDLE, False, 600), (USED, True, 60), (DELETING, True, 5)]


def test_a_spare_node_that_nobody_wanted() -> None:
    use = life(made=100.0, ready=120.0, left=720.0, gone=725.0, tenant="")
    assert parts(use) == [(BUILDING, False, 20), (IDLE, False, 600), (DELETING, False, 5)]


def test_a_server_that_never_became_ready_is_thrown_away() -> None:
    assert parts(life(made=100.0, left=220.0, gone=225.0)) == [(THROWN, True, 125)]
    assert parts(life(left=220.0, gone=225.0)) == []


def test_a_life_that_goes_on_ends_now() -> None:
    assert parts(life(made=100.0), 130.0) == [(BUILDING, True, 30)]
    assert parts(life(made=100.0, ready=120.0, taken=120.0), 130.0) == [(BUILDING, True, 20), (USED, True, 10)]


def test_waits_are_counted_by_whether_the_node_was_ready() -> None:
    cold = next_share(life(made=100.0, ready=120.0, taken=120.0, left=200.0, gone=205.0, wanted=95.0), 0.0).usage
    assert cold.rows[THEIRS][PARTS.index(USED)] == 80_000
    assert (cold.total("cold"), cold.total("cold_wait"), cold.total("warm")) == (1, 25_000, 0)
    warm = next_share(
        life(made=1.0, ready=2.0, taken=120.0, left=200.0, gone=205.0, wanted=119.0, warm=True), 0.0
    ).usage
    assert (warm.total("warm"), warm.total("warm_wait"), warm.total("cold")) == (1, 1_000, 0)


@given(USES)
def test_parts_have_no_gaps_and_are_as_long_as_the_servers_existed(use) -> None:
    found = spans(use, 0.0)
    assert all(one.end == two.begin for one, two in pairwise(found))
    assert all(span.begin < span.end and span.what in PARTS for span in found)
    made = use.gone if use.made is None else min(use.made, use.gone)
    begin = max(made - use.thrown, use.gone - LONGEST_LIFE)
    assert abs(sum(span.end - span.begin for span in found) - (use.gone - begin)) < 0.01


@given(USES)
def test_days_add_up_to_the_life_and_each_has_its_own_part(use) -> None:
    found = list(shares(use, 0.0))
    days = [share.day for share in found]
    assert days == sorted(set(days))
    total = merged(share.usage for share in found)
    expected = sum(round(span.end * 1000) - round(span.begin * 1000) for span in spans(use, 0.0))
    assert total.total(*PARTS) == expected
    assert total.total("nodes") == 1 and total.total("servers") == use.servers
    for share in found:
        assert share.usage.total(*PARTS) <= DAY * 1000


@given(USES, st.integers(0, 5))
def test_a_life_that_was_counted_in_part_goes_on_where_it_was(use, steps) -> None:
    """A cycle that is killed between two days loses nothing and counts nothing twice: the rest is stored."""
    whole, rest, counted = merged(share.usage for share in shares(use, 0.0)), use, []
    for _step in range(steps):
        share = next_share(rest, 0.0)
        counted.append(share.usage)
        if share.rest is None:
            break
        rest = NodeUse.from_document(share.rest.document())
    else:
        counted += [share.usage for share in shares(rest, 0.0)]
    assert merged(counted).rows == whole.rows


def test_a_night_is_divided_at_midnight() -> None:
    midnight = start_of("2026-11-20")
    use = life(made=midnight - 100, ready=midnight - 100, taken=midnight - 100, left=midnight + 50, gone=midnight + 50)
    found = {share.day: share.usage.total(USED) for share in shares(use, 0.0)}
    assert found == {"2026-11-19": 100_000, day_of(midnight): 50_000}


def test_nothing_is_left_of_a_life_without_servers() -> None:
    (share,) = shares(life(gone=T0, servers=0), 0.0)
    assert share.usage == Usage({NOBODYS: [0] * len(PARTS) + [1, 0, 0, 0, 0, 0]})
