# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The queue of calls that the cycle's thread makes."""

from __future__ import annotations

import threading
from functools import partial

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox


def test_calls_are_made_in_their_order_by_who_takes():
    inbox, made = Inbox(), []
    for number in range(5):
        inbox.post(partial(lambda number: made.append((number, threading.get_ident())), number))
    assert made == []
    assert inbox.take(0) == 5
    assert made == [(number, threading.get_ident()) for number in range(5)]


def test_nothing_there_is_nothing_made():
    assert Inbox().take(0) == 0
    assert Inbox().take(-5) == 0


def test_what_a_call_posts_is_made_in_the_same_round():
    inbox, made = Inbox(), []
    inbox.post(lambda: inbox.post(lambda: made.append("second")))
    assert inbox.take(0) == 2 and made == ["second"]


def test_a_round_is_bounded():
    inbox = Inbox()

    def again() -> None:
        inbox.post(again)

    again()
    assert inbox.take(0, most=50) == 50
    assert inbox.take(0, most=1) == 1


def test_another_thread_wakes_the_one_that_waits():
    inbox = Inbox()
    waker = threading.Thread(target=inbox.nudge)
    waker.start()
    assert inbox.take(10.0) == 1
    waker.join()


def test_an_error_of_a_call_reaches_the_cycle_and_the_rest_is_kept():
    inbox, made = Inbox(), []
    inbox.post(partial(divmod, 1, 0))
    inbox.post(lambda: made.append("call"))
    try:
        inbox.take(0)
    except ZeroDivisionError:
        made.append("error")
    assert inbox.take(0) == 1 and made == ["error", "call"]


def test_several_nudges_are_one_until_the_cycle_looks():
    inbox = Inbox()
    inbox.nudge()
    inbox.nudge()
    assert inbox.take(0) == 1
    inbox.nudge()
    assert inbox.take(0) == 1


def test_what_is_collected_is_made_together():
    inbox, made = Inbox(), []
    inbox.post(lambda: made.append(1))
    inbox.post(lambda: made.append(2))
    inbox.collect(-1.0)
    assert made == [1, 2]


def test_it_tells_how_many_calls_wait():
    inbox = Inbox()
    inbox.post(lambda: None)
    inbox.nudge()
    assert inbox.waiting == 2
    inbox.take(0)
    assert inbox.waiting == 0
