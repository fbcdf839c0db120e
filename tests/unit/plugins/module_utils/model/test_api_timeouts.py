# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the waiting times of an API follow from its one figure."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import ApiTimeouts


@given(st.floats(0.1, 600), st.floats(0, 10_000))
def test_what_is_given_up_first_comes_first(silence, floor):
    timeouts = ApiTimeouts(silence)
    assert timeouts.connect <= timeouts.silence < timeouts.call < timeouts.job
    assert timeouts.suspect < timeouts.stuck < timeouts.silence < timeouts.stuck_with_server
    assert floor <= timeouts.create_first(floor) <= timeouts.create_most(floor)
    assert timeouts.call < timeouts.create_first(floor)


def test_the_figures_of_the_documentation():
    timeouts = ApiTimeouts()
    assert (timeouts.connect, timeouts.suspect, timeouts.stuck, timeouts.call, timeouts.job) == (5, 10, 15, 60, 120)
    assert (timeouts.create_first(0), timeouts.create_most(0)) == (300, 600)
    assert (timeouts.create_first(120), timeouts.create_most(120)) == (600, 600)
    assert (timeouts.create_first(900), timeouts.create_most(900)) == (900, 900)
