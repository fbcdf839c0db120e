# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.assignment import LauncherHost, assign, score

NAMES = [f"provider{number}" for number in range(12)]
HOSTS = [f"host{number}" for number in range(6)]


def hosts(*names, wants=NAMES, **more):
    return [LauncherHost(name, wants=frozenset(wants), **more) for name in names]


def loads(placed):
    return sorted(Counter(placed.values()).values())


some_hosts = st.lists(st.sampled_from(HOSTS), min_size=1, unique=True)
some_names = st.lists(st.sampled_from(NAMES), min_size=1, unique=True)
a_host = st.builds(
    LauncherHost,
    st.sampled_from(HOSTS),
    st.floats(0.1, 10),
    st.frozensets(st.sampled_from(NAMES)),
    st.one_of(st.none(), st.frozensets(st.sampled_from(NAMES))),
    st.booleans(),
)
any_hosts = st.lists(a_host, unique_by=lambda one: one.host)
any_holders = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*HOSTS, "gone"]))


@given(any_hosts, any_holders)
def test_every_wanted_provider_has_a_live_host_that_wants_it(found, holders):
    placed, known = assign(found, holders), {one.host: one for one in found}
    assert placed.keys() == {name for one in found for name in one.wants}
    assert all(name in known[host].wants for name, host in placed.items())


@given(any_hosts, any_holders, st.randoms())
def test_every_launcher_computes_the_same_whatever_the_order(found, holders, random):
    shuffled, items = list(found), list(holders.items())
    random.shuffle(shuffled)
    random.shuffle(items)
    assert assign(shuffled, dict(items)) == assign(found, holders)


@given(any_hosts, any_holders)
def test_the_result_is_stable(found, holders):
    placed = assign(found, holders)
    assert assign(found, placed) == placed


@given(some_hosts, some_names)
def test_equal_hosts_have_equal_shares(names, providers):
    placed = assign(hosts(*names, wants=providers), {})
    found = [Counter(placed.values())[name] for name in names]
    assert max(found) - min(found) <= 1


@given(some_hosts, some_names, st.data())
def test_a_host_that_goes_moves_its_own_providers_only(names, providers, data):
    before = assign(hosts(*names, wants=providers), {})
    gone = data.draw(st.sampled_from(names))
    left = [name for name in names if name != gone]
    after = assign(hosts(*left, wants=providers), before) if left else before
    assert all(after[name] == host for name, host in before.items() if host != gone)


@given(some_hosts, some_names)
def test_a_host_that_comes_takes_its_share_and_no_other_provider_moves(names, providers):
    before = assign(hosts(*names, wants=providers), {})
    after = assign(hosts(*names, "new", wants=providers), before)
    moved = [name for name in providers if after[name] != before[name]]
    assert all(after[name] == "new" for name in moved)
    assert len(moved) == len(providers) // (len(names) + 1)


def test_three_hosts_and_six_providers_have_two_each_whoever_came_first():
    names = NAMES[:6]
    for first in HOSTS[:3]:
        holders = dict.fromkeys(names, first)
        assert loads(assign(hosts(*HOSTS[:3], wants=names), holders)) == [2, 2, 2]


def test_shares_follow_the_weights():
    found = [*hosts("large", weight=2.0, wants=NAMES), *hosts("a", "b", wants=NAMES)]
    assert Counter(assign(found, {}).values()) == {"large": 6, "a": 3, "b": 3}
    assert Counter(assign(found, dict.fromkeys(NAMES, "a")).values()) == {"large": 6, "a": 3, "b": 3}


def test_rendezvous_hashing_gives_a_host_its_share_by_weight():
    large, small = LauncherHost("large", 3.0), LauncherHost("small", 1.0)
    won = sum(score(large, f"p{number}") > score(small, f"p{number}") for number in range(4000))
    assert 0.7 < won / 4000 < 0.8


def test_a_preference_is_no_prison():
    near = LauncherHost("near", wants=frozenset({"east", "west"}), prefers=frozenset({"east"}))
    far = LauncherHost("far", wants=frozenset({"east", "west"}), prefers=frozenset({"west"}))
    assert assign([near, far], {}) == {"east": "near", "west": "far"}
    assert assign([near], {"east": "near", "west": "far"}) == {"east": "near", "west": "near"}
    assert assign([near, far], {"east": "near", "west": "near"}) == {"east": "near", "west": "far"}


def test_who_names_a_provider_comes_before_who_has_no_preference_and_that_one_before_who_names_others():
    names = frozenset({"east"})
    named, plain = LauncherHost("named", wants=names, prefers=names), LauncherHost("plain", wants=names)
    other = LauncherHost("other", wants=names, prefers=frozenset({"west"}))
    assert assign([plain, other, named], {}) == {"east": "named"}
    assert assign([plain, other], {}) == {"east": "plain"}
    assert assign([other], {}) == {"east": "other"}


@pytest.mark.parametrize("holder", ["brief", ""])
def test_a_cycle_that_ends_soon_keeps_what_it_has_and_takes_nothing_else(holder):
    brief, staying = LauncherHost("brief", wants=frozenset({"east"}), stays=False), hosts("staying", wants=["east"])
    assert assign([brief, *staying], {"east": holder}) == {"east": holder or "staying"}


def test_a_configuration_file_for_each_host():
    a, b = hosts("a", wants=["one", "two", "three"]), hosts("b", wants=["four"])
    assert assign([*a, *b], {}) == {"one": "a", "two": "a", "three": "a", "four": "b"}
