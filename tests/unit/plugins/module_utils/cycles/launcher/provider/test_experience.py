# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle learns of a provider, and what the next cycle makes of it."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.experience import (
    MOST_IMAGES,
    STANDBY_EVERY,
    Experience,
    learned_before,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.polling import SAMPLES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument


def test_the_next_cycle_knows_what_was_learned():
    before, after = Experience(), Experience()
    before.boot_times.learn([20.0, 21.5])
    before.delete_times.learn([3.0])
    before.node_gone("main", 100.04)
    before.reading = {"at": 99.0}
    before.image_answered("img-1", 98.04)
    before.note_standby(97.04)
    after.learn(learned_before(before.document()))
    assert after.document() == before.document()
    assert after.document()["gone"] == [{"pool": "main", "at": 100.0}]


def test_the_images_that_answered_last_are_kept():
    known = Experience()
    for number in range(2 * MOST_IMAGES):
        known.image_answered(f"img-{number}", float(number))
    known.image_answered("img-50", 200.0)
    assert list(known.answered.items())[-1] == ("img-50", 200.0) and len(known.answered) == MOST_IMAGES


def test_a_standby_is_noted_once_in_a_while_also_when_the_clock_was_set_back():
    known, noted = Experience(), []
    for moment in (1000.04, 1001.0, 1000.0 + STANDBY_EVERY, 1000.1 + STANDBY_EVERY, 500.0):
        known.note_standby(moment)
        noted.append(known.document()["stood_by"])
    assert noted == [1000.0, 1000.0, 1000.0 + STANDBY_EVERY, 1000.0 + STANDBY_EVERY, 500.0]


@pytest.mark.parametrize("odd", [None, "soon", ["main"], float("nan"), True])
def test_a_standby_that_makes_no_sense_never_was(odd):
    known = Experience()
    known.learn({"stood_by": odd})
    assert known.stood_by is None


@pytest.mark.parametrize("odd", [None, "soon", 5, {"pool": "main"}, ["main", 7, None]])
def test_odd_documents_are_of_no_use_and_do_no_harm(odd):
    known = Experience()
    known.learn({"boot_seconds": [20.0], "delete_seconds": odd, "gone": odd, "answered": odd})
    known.learn({"answered": {"img-1": odd}})
    assert known.answered in ({}, {"img-1": 5.0})
    known.learn({"boot_seconds": [20.0]})
    assert (known.document()["boot_seconds"], known.document()["gone"]) == ([20.0], [])


@pytest.mark.parametrize("boots", ["soon", [-1.0], [20.0, "21"], [float("inf")]])
def test_boots_that_make_no_sense_are_refused(boots):
    with pytest.raises(BadDocument, match="'boot_seconds'"):
        learned_before({"boot_seconds": boots})


def test_only_the_latest_ends_are_kept():
    known = Experience()
    for number in range(2 * SAMPLES):
        known.node_gone(None, float(number))
    assert [end["at"] for end in known.document()["gone"]] == [float(number) for number in range(SAMPLES, 2 * SAMPLES)]
