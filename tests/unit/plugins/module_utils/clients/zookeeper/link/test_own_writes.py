# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our own writes are not read again; those of others always are, in whatever order events and answers come."""

from __future__ import annotations

import itertools

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.own_writes import OwnWrites

PATH = "/nodepool/nodes/0000000001"


def test_an_own_write_costs_no_reading():
    own_writes = OwnWrites()
    awaited = own_writes.expect([PATH])
    assert own_writes.is_ours(PATH)
    assert own_writes.answered(awaited, {PATH}) == []
    assert not own_writes.is_ours(PATH)


def test_nothing_is_ours_when_nothing_is_awaited():
    own_writes = OwnWrites()
    own_writes.answered(own_writes.expect([PATH]), {PATH})
    assert not own_writes.is_ours(PATH)


def test_the_event_of_somebody_else_s_new_node_shows_in_the_end():
    """Two create a sequence znode at once: who made which is known with the answer."""
    own_writes = OwnWrites()
    awaited = own_writes.expect(["/nodepool/nodes/"])
    assert own_writes.is_ours("/nodepool/nodes/0000000007")
    assert not own_writes.is_ours("/nodepool/nodes/0000000008")
    assert own_writes.answered(awaited, {"/nodepool/nodes/0000000008"}) == ["/nodepool/nodes/0000000007"]


def test_what_a_refused_write_was_blamed_for_is_read():
    own_writes = OwnWrites()
    awaited = own_writes.expect([PATH])
    assert own_writes.is_ours(PATH)
    assert own_writes.answered(awaited, set()) == [PATH]


def test_in_every_order_somebody_else_s_last_word_is_read():
    """Two writes of ours and one of another on one znode: unless ours is the last, a reading comes after theirs."""
    for order in set(itertools.permutations(["ours", "ours", "theirs"])):
        own_writes = OwnWrites()
        awaited = [own_writes.expect([PATH]), own_writes.expect([PATH])]
        readings = []
        for place, writer in enumerate(order):
            if not own_writes.is_ours(PATH):
                readings.append(place)
            if writer == "ours" and own_writes.answered(awaited.pop(0), {PATH}):
                readings.append(place)
        assert readings, order
        assert readings[-1] >= order.index("theirs"), order
