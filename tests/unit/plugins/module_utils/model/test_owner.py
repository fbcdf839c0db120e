# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each owner is told in one sentence, and several owners have one that stands for them."""

from __future__ import annotations

from itertools import permutations

from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner


def test_each_owner_has_a_sentence_of_its_own():
    names = {value for name, value in vars(owner).items() if name.isupper() and isinstance(value, str)}
    assert names == set(owner.OWNERS) == set(owner.SENTENCES)
    assert len(set(owner.SENTENCES.values())) == len(owner.OWNERS)


def test_the_owner_who_must_act_stands_for_several_in_whatever_order_they_come():
    for some in permutations([owner.CAPACITY, owner.REQUEST, owner.UNKNOWN, None]):
        assert owner.foremost(some) == owner.REQUEST
    assert owner.foremost([owner.UNKNOWN, owner.CLOUD]) == owner.CLOUD
    assert owner.foremost([]) == owner.foremost(["somebody"]) == owner.UNKNOWN
