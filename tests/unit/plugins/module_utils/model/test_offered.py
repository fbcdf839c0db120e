# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that nobody offers."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.offered import MOST, listed, not_offered


def test_the_nearest_names_come_first():
    assert listed("netA", ["public", "zoo", "net-a"]) == "net-a, public, zoo"


def test_a_long_list_is_cut_and_says_so():
    text = listed("x9", [f"net{number:03}" for number in range(MOST + 7)])
    assert text.endswith(" and 7 more") and text.count(", ") == MOST - 1


def test_nothing_is_offered():
    assert not_offered("keypair", "ci", [], "make one") == (
        "the cloud has no keypair named 'ci'; it offers none: make one"
    )
