# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which row of ``make test-openstack`` begins when a lane is free."""

from __future__ import annotations

import threading

from tests.openstack.lab import COMPUTE, VOLUMES, Row
from tests.openstack.lanes import Turns, clash


def made(name, **options):
    return Row(name, "", lambda lab: "", **options)


SHORT, LONG = made("short"), made("long")
ALONE, SECOND_ALONE = made("alone", alone=True), made("second-alone", alone=True)
FROZEN, KILLED = made("frozen", disturbs=COMPUTE), made("killed", disturbs=COMPUTE)
PLAIN, STORED = made("plain", needs=()), made("stored", needs=(COMPUTE, VOLUMES))
NO_NOVA, NO_GLANCE, NO_KEYSTONE = (made(f"no-{name}", disturbs=name) for name in ("nova-api", "glance-api", "keystone"))
NO_VOLUMES = made("no-volumes", disturbs=VOLUMES, needs=(COMPUTE, VOLUMES))
SECONDS = {"short": 5.0, "long": 50.0, "plain": 1.0}


def one_after_the_other(rows):
    turns, taken = Turns(rows, SECONDS), []
    while (row := turns.take()) is not None:
        taken.append(row.name)
        turns.done(row)
    return taken


def test_the_longest_first_and_at_the_end_those_that_want_to_be_alone():
    assert one_after_the_other([ALONE, SHORT, LONG, SECOND_ALONE]) == ["long", "short", "alone", "second-alone"]


def test_a_row_of_which_no_time_is_known_comes_before_the_others():
    assert one_after_the_other([SHORT, LONG, STORED]) == ["stored", "long", "short"]


def test_rows_that_disturb_all_run_after_the_others_and_before_those_that_want_to_be_alone():
    assert one_after_the_other([NO_NOVA, ALONE, SHORT, FROZEN]) == ["frozen", "short", "no-nova-api", "alone"]


def test_beside_a_row_that_disturbs_a_service_run_those_that_do_not_need_it():
    turns = Turns([LONG, PLAIN, FROZEN], SECONDS)
    assert [turns.take(), turns.take()] == [FROZEN, PLAIN]
    turns = Turns([STORED, SHORT, NO_VOLUMES], SECONDS)
    assert [turns.take(), turns.take()] == [NO_VOLUMES, SHORT]


def test_rows_that_disturb_all_run_on_other_control_planes_beside_the_others_and_on_the_first_after_them():
    turns = Turns([NO_NOVA, NO_GLANCE, NO_KEYSTONE, FROZEN, PLAIN, LONG], SECONDS)
    assert [turns.take(0), turns.take(0), turns.take(1)] == [FROZEN, PLAIN, NO_NOVA]
    assert clash(NO_NOVA, NO_GLANCE) and not clash(NO_NOVA, FROZEN, beside=False)
    assert got_after(turns, NO_NOVA, plane=1) == [NO_GLANCE]
    turns.done(FROZEN)
    turns.done(PLAIN)
    assert turns.take(0) is LONG
    assert clash(LONG, NO_KEYSTONE)
    assert got_after(turns, LONG) == [NO_KEYSTONE]
    assert (turns.take(0), turns.take(1)) == (None, None)


def test_a_row_that_wants_to_be_alone_waits_for_those_on_other_control_planes():
    turns = Turns([NO_NOVA, ALONE], SECONDS)
    assert turns.take(1) is NO_NOVA
    assert clash(NO_NOVA, ALONE, beside=False)
    assert got_after(turns, NO_NOVA) == [ALONE]


def got_after(turns, ended, plane=0):
    """What a lane gets that waits while a row runs, when that has ended."""
    got = []
    lane = threading.Thread(target=lambda: got.append(turns.take(plane)), daemon=True)
    lane.start()
    assert not got
    turns.done(ended)
    lane.join(60)
    return got


def test_a_row_waits_until_the_one_that_it_clashes_with_has_ended():
    for first, second in (
        (FROZEN, LONG),
        (PLAIN, NO_NOVA),
        (FROZEN, KILLED),
        (NO_VOLUMES, STORED),
        (LONG, ALONE),
        (ALONE, SECOND_ALONE),
    ):
        turns = Turns([first, second], SECONDS)
        assert turns.take() is first
        assert clash(first, second)
        assert got_after(turns, first) == [second]


def test_a_lane_ends_when_no_row_waits_though_others_still_run():
    turns = Turns([LONG], SECONDS)
    assert turns.take() is LONG
    assert turns.take() is None
