# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow resources are frozen for those alone that need them, and all zones of a flavor are tried in turn."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import (
    ADDRESSES,
    ALLOWED,
    CREATES,
    HOSTS,
    MEMBERS,
    SUCCESS,
    SUCCESS_THERE,
    ZONE,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.narrow import (
    FIRST_PAUSE,
    TURN,
    Shape,
    family,
    followed,
    got,
    next_turn,
    one_of_each,
    refused_narrow,
    shape_of,
    split,
    trials,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import LaunchSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.freeze import Freeze, is_narrow
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import ORDER, UNCOUNTED

NOW = 10_000.0


def test_names_are_words_and_are_told_from_what_a_quota_counts():
    shape = Shape("m1", "debian", ("a", "b"))
    assert shape.narrow_name(HOSTS, "az1") == "hosts for m1 with debian in zone az1"
    assert shape.narrow_name(HOSTS, None) == "hosts for m1 with debian"
    assert shape.narrow_name(ADDRESSES, "az1") == "addresses in a, b"
    assert shape.narrow_name(ALLOWED, "az1") == "right to create servers of m1 with debian in a, b"
    assert shape.narrow_name(UNCOUNTED, "az1") == "room in other quotas for m1 with debian"
    assert family(shape.narrow_name(ALLOWED, "az1")) == family(shape.narrow_name(CREATES, None))
    assert all(is_narrow(name) for name in shape.narrow_needs("az1"))
    assert not any(is_narrow(name) for name in ORDER)
    assert family("hosts for m1 with a in zone az1") == family("hosts for m1 with b in zone az2") == "hosts for m1"
    assert split(["ram", HOSTS, "ports", CREATES]) == (["ram", "ports"], [HOSTS, CREATES])


def test_what_only_a_group_or_hints_restrict_is_no_shortage_for_others():
    settings = LaunchSettings(server_group="spread", scheduler_hints={"same_host": "x"})
    grouped = shape_of("m1", PoolLabel("a", diskimage="debian", launches=settings), ("net",))
    plain = shape_of("m1", PoolLabel("b", diskimage="debian"), ("net",))
    assert grouped.narrow_name(MEMBERS, None) == "members of server group spread"
    assert grouped.narrow_name(HOSTS, None) == "hosts for m1 (server group spread and hints same_host=x) with debian"
    assert is_narrow(grouped.narrow_name(MEMBERS, None))
    assert family(grouped.narrow_name(HOSTS, "az1")) != family(plain.narrow_name(HOSTS, "az1"))
    assert grouped.narrow_name(HOSTS, None) not in plain.narrow_needs(None)
    assert not any("members" in name for name in plain.narrow_needs(None))
    assert len(shape_of("m1", PoolLabel("c", launches=LaunchSettings(server_group="g" * 255)), ()).placement) > 120
    assert len(Shape("m1", "i", (), "p" * 500).narrow_name(HOSTS, None)) < 200


def refuse(known: dict[str, Freeze], zone: str, now: float, sent_at: float) -> dict[str, Freeze]:
    return refused_narrow(known, Shape("m1", "debian").narrow_name(HOSTS, zone), "full", "capacity", now, 0.5, sent_at)


def test_creates_that_were_under_way_together_make_one_freeze():
    first = refuse({}, "az1", NOW, NOW - 2)
    second = refuse(first, "az1", NOW + 1, NOW - 1)
    assert second["hosts for m1 with debian in zone az1"].until == first["hosts for m1 with debian in zone az1"].until
    assert len(second["hosts for m1 with debian in zone az1"].refusals) == 2


@given(st.integers(1, 4), st.lists(st.floats(0.0, 5.0), min_size=400, max_size=400))
def test_all_zones_together_are_tried_rarely_and_each_in_its_turn(zones, delays):
    """A launch tries whatever it may as soon as it may; each try fails after some seconds."""
    known: dict[str, Freeze] = {}
    names = [f"az{number}" for number in range(zones)]
    for name in names:
        known = refuse(known, name, NOW, NOW - 1)
    now, tries, tried = NOW, [], []
    for delay in delays:
        allowed = trials(known, {}, now)
        assert len(allowed) <= 1
        if not allowed:
            now = min(freeze.until for freeze in known.values())
            continue
        ((name, room),) = allowed.items()
        assert room == 1
        assert trials(known, {name: 1}, now) == {}, "one at a time"
        tries.append(now)
        tried.append(name)
        known = refuse(known, name.rpartition(" ")[2], now + delay, now)
        now += delay
    assert max(sum(1 for other in tries if 0 <= other - one < 120) for one in tries) <= 6
    assert max(sum(1 for other in tries if 0 <= other - one < 3600) for one in tries) <= 30
    assert set(tried[: 2 * zones]) == {f"hosts for m1 with debian in zone {name}" for name in names}


def test_another_flavor_and_another_kind_are_of_no_concern():
    known = refuse({}, "az1", NOW, NOW - 1)
    later = refused_narrow(known, "addresses in a", "full", "network", NOW + 5, 0.5, NOW + 4)
    assert later["hosts for m1 with debian in zone az1"] == known["hosts for m1 with debian in zone az1"]
    assert (later["addresses in a"].owner, later["addresses in a"].refusals) == ("network", [NOW + 5])


def test_the_first_pause_is_short_and_the_next_ones_are_those_of_a_quota():
    once = refuse({}, "az1", NOW, NOW - 1)["hosts for m1 with debian in zone az1"]
    assert FIRST_PAUSE <= once.until - NOW <= 1.5 * FIRST_PAUSE
    twice = refuse({once.resource: once}, "az1", NOW + 5, NOW + 4)[once.resource]
    assert 24 <= twice.until - (NOW + 5) <= 30


def test_refusals_from_before_the_freeze_count_for_its_later_pauses_only():
    name, earlier = Shape("m1", "debian").narrow_name(SUCCESS, None), (NOW - 2, NOW - 1)
    once = refused_narrow({}, name, "denied", "cloud", NOW, 0.0, NOW - 1, earlier=earlier)[name]
    assert (once.refusals, once.until - NOW) == ([*earlier, NOW], FIRST_PAUSE)
    twice = refused_narrow({name: once}, name, "denied", "cloud", NOW + 4, 0.0, NOW + 3)[name]
    assert 30 <= twice.until - (NOW + 4) <= 60


def test_creates_that_work_are_named_by_what_shows_that_they_do_not():
    shape = Shape("m1", "debian")
    assert shape.narrow_name(ZONE, "az1") == "success with creates in zone az1"
    assert shape.narrow_name(SUCCESS, "az1") == "success with creates of m1 with debian"
    assert shape.narrow_name(SUCCESS_THERE, "az1") == "success with creates of m1 with debian in zone az1"
    assert family(shape.narrow_name(ZONE, "az1")) == family(shape.narrow_name(ZONE, "az2"))
    assert family(shape.narrow_name(ZONE, "az1")) != family(shape.narrow_name(SUCCESS_THERE, "az1"))
    without = shape.narrow_needs(None)
    assert len(set(without)) == len(without) and not any("zone" in name for name in without)


def test_of_each_family_the_one_with_room_counts():
    one, two, other = "hosts for m1 with a", "hosts for m1 with b", "addresses in n"
    assert one_of_each([one, two, other], {two: 1.0}) == {"hosts for m1": two, "addresses in n": other}
    assert one_of_each([two, one], {one: 1.0}) == {"hosts for m1": one}


def test_members_of_a_group_that_no_label_names_hold_up_what_needs_them():
    shape = Shape("m1", "debian")
    assert shape.narrow_name(MEMBERS, None) in shape.narrow_needs(None)


def test_what_is_given_back_is_tried_at_once_unless_others_take_it():
    name = "hosts for m1 with debian in zone az1"
    known = refused_narrow({}, name, "full", "capacity", NOW, 0.5, NOW - 1, 3)
    freeze = known[name]
    assert followed(freeze, 3, NOW + 1) is freeze
    more = followed(freeze, 5, NOW + 1)
    assert more.until == freeze.until
    back = followed(more, 4, NOW + 2)
    assert back.until == NOW + 2
    taken = refused_narrow({name: back}, name, "full", "capacity", NOW + 5, 0.5, NOW + 3, 4)[name]
    assert taken.blind and followed(taken, 1, NOW + 6) is taken
    account = replace(freeze, owner="account")
    assert followed(account, 0, NOW + 1) is account


def test_more_at_once_after_each_success_until_it_is_forgotten():
    name = "hosts for m1 with debian in zone az1"
    freeze = refused_narrow({}, name, "full", "capacity", NOW, 0.5, NOW - 1, 3)[name]
    rooms = []
    after: Freeze | None = freeze
    while after is not None:
        rooms.append(trials({name: after}, {}, NOW + 100)[name])
        after = got(after, NOW + 100)
    assert rooms == [1, 1, 2, 3]
    assert trials({name: freeze}, {}, NOW + 1) == {}


def test_each_zone_has_its_turn_if_nobody_needs_the_one_before():
    known = refuse(refuse({}, "az1", NOW, NOW - 1), "az2", NOW + 1, NOW)
    until = max(freeze.until for freeze in known.values())
    names = [f"hosts for m1 with debian in zone {zone}" for zone in ("az1", "az2")]
    turns = [list(trials(known, {}, until + TURN * number)) for number in range(4)]
    assert turns == [[names[0]], [names[1]], [names[0]], [names[1]]]
    assert next_turn(known.values(), until) == TURN
    assert next_turn(known.values(), until - 1) == float("inf")
    assert trials(known, {names[0]: 1}, until + TURN) == {}, "one of the two is being tried"


def test_what_is_forbidden_was_refused_twice_before_it_is_known():
    first = refused_narrow({}, "right to create servers", "no", "account", NOW, 0.0, NOW - 1)
    assert first["right to create servers"].until >= NOW + 20
    assert len(first["right to create servers"].refusals) == 2
