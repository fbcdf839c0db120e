# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle is asked to end."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import (
    CONTROLLER_GONE,
    STOPPED,
    Stop,
)


def test_the_first_reason_stays_and_each_ask_wakes_the_cycle():
    stop, woken = Stop(), []
    stop.tell(lambda: woken.append(stop.reason))
    assert (stop.reason, woken) == (None, [])
    stop.ask(CONTROLLER_GONE)
    stop.ask(STOPPED)
    assert (stop.reason, woken) == (CONTROLLER_GONE, [CONTROLLER_GONE, CONTROLLER_GONE])


def test_a_cycle_that_was_asked_before_it_began_is_woken_at_once():
    stop, woken = Stop(), []
    stop.ask(STOPPED)
    stop.tell(lambda: woken.append(stop.reason))
    assert woken == [STOPPED]
