# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A zone is at fault if another one accepts the create that it refused, and it accepts nothing itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.launches import zone_refusals
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.launches.zone_refusals import (
    ZoneRefusals,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.narrow import Shape


def launch(zone: str | None, witness: str = "request 1", flavor: str = "small") -> Any:
    return SimpleNamespace(
        key=("east", "main"),
        witness=witness,
        zones=("a", "b"),
        shape=Shape(flavor, "debian"),
        launch=SimpleNamespace(az=zone, label="label", asked_at=9.0),
    )


def test_what_another_zone_accepts_shows_the_zone_that_refuses():
    known = ZoneRefusals()
    known.refused(launch("a"), "odd", 10.0)
    (refusal,) = known.accepted(launch("b"), 20.0)
    assert (refusal.zone, refusal.sent_at, refusal.at, refusal.text) == ("a", 9.0, 10.0, "odd")
    assert known.accepted(launch("b"), 21.0) == [], "it is told once"


def test_a_zone_that_accepted_something_since_is_not_at_fault():
    known = ZoneRefusals()
    known.refused(launch("a"), "odd", 10.0)
    assert known.accepted(launch("a", "request 2", "large"), 11.0) == []
    assert known.accepted(launch("b"), 20.0) == []


def test_the_create_of_somebody_else_shows_nothing():
    known = ZoneRefusals()
    known.refused(launch("a"), "odd", 10.0)
    assert known.accepted(launch("b", "request 2"), 20.0) == []


def test_zones_are_left_until_creates_of_its_kind_were_refused_in_all():
    known = ZoneRefusals()
    assert known.are_left(launch("a"))
    known.refused(launch("a"), "odd", 10.0)
    assert known.are_left(launch("a"))
    assert not known.are_left(launch("b")), "it was refused in the other one"
    assert not known.are_left(launch("b", "request 2")), "one like it was refused there"
    assert known.are_left(launch("b", "request 2", "large"))
    known.accepted(launch("a", "request 2"), 11.0)
    assert known.are_left(launch("b", "request 3"))


def test_without_zones_nothing_is_left_or_remembered():
    known = ZoneRefusals()
    alone = launch(None)
    alone.zones = ()
    known.refused(alone, "odd", 10.0)
    assert not known.are_left(alone)
    assert known.accepted(alone, 11.0) == []


def test_few_are_remembered(monkeypatch):
    monkeypatch.setattr(zone_refusals, "MOST", 2)
    known = ZoneRefusals()
    for number in range(3):
        known.refused(launch("a", f"request {number}"), "odd", 10.0 + number)
    assert known.accepted(launch("b", "request 0"), 20.0) == []
    assert len(known.accepted(launch("b", "request 2"), 20.0)) == 1
