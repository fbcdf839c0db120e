# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose fault it is that a server does not answer: the image, the network, the cloud, or the launcher's own network."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import COURSES
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import REACH
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.reachability import (
    SIGNS,
    Around,
    Guest,
    look_around,
    whose_silence,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner

MINE = Guest("east", "debian", ("private",), "az1", "main/one")
OTHER_IMAGE = replace(MINE, image="fedora")
OTHER_NETWORK = replace(MINE, networks=("public",))
OTHER_ZONE = replace(MINE, zone="az2")
OTHER_BOTH = replace(OTHER_NETWORK, image="fedora")
OTHER_CLOUD = replace(MINE, provider="west", image="suse")


def whose(answered: tuple[Guest, ...] = (), silent: tuple[Guest, ...] = (), earlier: tuple[Guest, ...] = ()) -> str:
    return whose_silence(look_around(MINE, answered, silent, earlier)).owner


@pytest.mark.parametrize(
    ("answered", "silent", "earlier", "expected"),
    [
        ((), (), (), owner.IMAGE),
        ((), (MINE,), (), owner.IMAGE),
        ((OTHER_IMAGE,), (), (), owner.IMAGE),
        ((OTHER_IMAGE,), (MINE, MINE), (), owner.IMAGE),
        ((MINE,), (), (), owner.UNKNOWN),
        ((MINE, OTHER_IMAGE), (MINE,), (), owner.UNKNOWN),
        ((OTHER_IMAGE, OTHER_NETWORK), (), (), owner.UNKNOWN),
        ((OTHER_IMAGE,), (), (MINE,), owner.UNKNOWN),
        ((OTHER_NETWORK,), (), (), owner.NETWORK),
        ((OTHER_ZONE,), (MINE,), (), owner.NETWORK),
        ((OTHER_ZONE,), (), (), owner.UNKNOWN),
        ((replace(OTHER_ZONE, image="fedora"),), (MINE,), (), owner.IMAGE),
        ((replace(OTHER_ZONE, image="fedora"),), (OTHER_IMAGE,), (), owner.NETWORK),
        ((OTHER_ZONE, OTHER_IMAGE), (MINE,), (), owner.UNKNOWN),
        ((OTHER_BOTH,), (OTHER_IMAGE,), (), owner.NETWORK),
        ((OTHER_BOTH,), (), (MINE,), owner.NETWORK),
        ((OTHER_BOTH,), (), (), owner.UNKNOWN),
        ((), (OTHER_IMAGE,), (), owner.NETWORK),
        ((), (), (MINE,), owner.NETWORK),
        ((), (OTHER_NETWORK,), (), owner.CLOUD),
        ((OTHER_CLOUD,), (OTHER_BOTH, MINE), (), owner.CLOUD),
        ((), (OTHER_CLOUD,), (), owner.US),
        ((OTHER_CLOUD,), (), (), owner.IMAGE),
        ((OTHER_CLOUD,), (OTHER_CLOUD,), (), owner.IMAGE),
        ((OTHER_BOTH,), (OTHER_CLOUD, OTHER_IMAGE), (), owner.NETWORK),
    ],
)
def test_the_other_servers_decide(answered, silent, earlier, expected):
    assert whose(answered, silent, earlier) == expected


OTHER_LABEL = replace(MINE, label="main/other")


@pytest.mark.parametrize(
    ("answered", "earlier", "expected"),
    [
        ((MINE,), (), owner.UNKNOWN),
        ((OTHER_LABEL,), (), owner.LABEL),
        ((OTHER_IMAGE, OTHER_NETWORK), (), owner.LABEL),
        ((OTHER_IMAGE,), (MINE,), owner.LABEL),
        ((OTHER_IMAGE,), (), owner.IMAGE),
        ((OTHER_BOTH,), (), owner.IMAGE),
        ((OTHER_NETWORK,), (), owner.NETWORK),
        ((), (MINE,), owner.NETWORK),
    ],
)
def test_what_stays_unknown_for_ten_minutes_is_decided_unless_the_way_is_broken(answered, earlier, expected):
    around = look_around(MINE, answered, (), earlier, persistent=True)
    assert whose_silence(around).owner == expected


GUESTS = st.lists(
    st.builds(
        Guest,
        st.sampled_from(["east", "west"]),
        st.sampled_from(["debian", "fedora", "suse"]),
        st.sampled_from([(), ("private",), ("public",), ("public", "private")]),
        st.sampled_from([None, "az1", "az2"]),
    ),
    max_size=6,
)
AROUND = st.builds(Around, **{item.name: st.booleans() for item in fields(Around)})


@given(AROUND)
def test_any_silence_has_one_owner_and_only_a_broken_way_freezes(around: Around):
    verdict = whose_silence(around)
    assert verdict == whose_silence(around)
    broken = verdict.owner in (owner.NETWORK, owner.CLOUD, owner.US)
    assert verdict.resources == ((REACH,) if broken else ())
    assert verdict.owner in (owner.IMAGE, owner.LABEL, owner.UNKNOWN) or broken
    if verdict.owner == owner.LABEL:
        assert around.persistent and around.here and not around.label_here
    if broken:
        assert around.zone_silent or not around.here, "where a server answers the way is not broken"
        assert not COURSES[verdict.owner].may_fail
    if verdict.owner == owner.IMAGE and around != Around():
        known_good = around.same_here or around.same_there or around.before
        assert around.persistent or not known_good, "an image that answers is a good one"


@given(GUESTS, GUESTS, GUESTS)
def test_an_image_is_blamed_only_where_others_fare_better_or_nothing_else_was_tried(answered, silent, earlier):
    around = look_around(MINE, answered, silent, earlier)
    if whose_silence(around).owner != owner.IMAGE:
        return
    tried = [
        guest for guest in silent if guest.provider == "east" and (guest.image != "debian" or not guest.is_near(MINE))
    ]
    assert [guest for guest in answered if guest.is_near(MINE)] or tried == []
    assert not any(guest.image == "debian" and guest.provider == "east" for guest in (*answered, *earlier))


@given(GUESTS, GUESTS)
def test_servers_of_other_clouds_alone_never_clear_or_blame_a_network(answered, silent):
    elsewhere = [guest for guest in answered if guest.provider != "east"]
    quiet = [guest for guest in silent if guest.provider != "east"]
    assert whose(tuple(elsewhere), tuple(quiet)) in (owner.IMAGE, owner.US)


def test_each_row_decides_something():
    decided = {
        next(sign for sign in SIGNS if sign.holds(around)).shows
        for around in (
            Around(**dict(zip((item.name for item in fields(Around)), bits, strict=True)))
            for bits in ([bool(number >> place & 1) for place in range(12)] for number in range(4096))
        )
    }
    assert decided == {sign.shows for sign in SIGNS}
