# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names and values of the builder's figures."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build import Report
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.builder_metrics import (
    BUILDING,
    IDLE,
    PAUSED,
    UPLOADING,
    count_build,
    count_upload,
    send_build_states,
    send_requests,
    send_upload_states,
    with_gone,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.counts import CycleCounts

PLACE = "nodepool.dib_image_build.debian-12"


class Heard:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.all: list[tuple[str, float | str]] = []

    def incr(self, name: str, count: int = 1) -> None:
        self.all.append((name, f"+{count}"))

    def gauge(self, name: str, value: float) -> None:
        self.all.append((name, value))

    def timing(self, name: str, seconds: float) -> None:
        self.all.append((name, f"{seconds:g} s"))


def ended(state: str, **values: Any) -> Report:
    return Report(image="debian-12", build_id="b", state=state, reason="requested", **values)


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_a_good_build(heard: Heard) -> None:
    cycle_counts = CycleCounts(heard)
    sizes = {"qcow2": 4096, "raw": 8192}
    report = ended("ready", code=0, seconds=61.5, sizes=sizes)
    count_build(cycle_counts, report, 1_800_000_000.9)
    assert heard.all == [
        (f"{PLACE}.qcow2.size", 4096),
        (f"{PLACE}.raw.size", 8192),
        (f"{PLACE}.status.rc", 0),
        (f"{PLACE}.status.last_build", 1_800_000_000),
        (f"{PLACE}.status.duration", "61.5 s"),
    ]
    series = cycle_counts.counters.series["image_build_seconds"][("debian-12", "ready")]
    assert (sum(series[:-1]), series[-1]) == (1, 61.5)


@pytest.mark.parametrize(("code", "told"), [(127, 127), (-9, 137), (None, 1), (0, 1)])
def test_a_build_that_is_not_ready_is_never_told_as_a_success(heard: Heard, code: int | None, told: int) -> None:
    cycle_counts = CycleCounts(heard)
    report = ended("failed", code=code, seconds=2.0, sizes={"raw": 1})
    count_build(cycle_counts, report, 5.0)
    assert dict(heard.all)[f"{PLACE}.status.rc"] == told
    assert list(cycle_counts.counters.series["image_build_seconds"]) == [("debian-12", "failed")]
    assert not [name for name, _value in heard.all if name.endswith(".size")]


def test_an_upload(heard: Heard) -> None:
    cycle_counts = CycleCounts(heard)
    count_upload(cycle_counts, "debian-12", "east", ready=True, seconds=12.5)
    count_upload(cycle_counts, "debian-12", "west", ready=False, seconds=3.0)
    name = "nodepool.image_update.debian-12.east"
    assert heard.all == [(name, "+1"), (name, "12.5 s")]
    assert sorted(cycle_counts.counters.series["image_upload_seconds"]) == [
        ("east", "debian-12", "ready"),
        ("west", "debian-12", "failed"),
    ]


def test_states_of_images(heard: Heard) -> None:
    send_build_states(heard, "nb01.example.org", {"a": IDLE, "b": BUILDING, "c": PAUSED})
    send_upload_states(heard, "nb01.example.org", {("a", "east"): UPLOADING, ("a", "west"): IDLE})
    place = "nodepool.builder.nb01.example.org.image"
    assert dict(heard.all) == {
        f"{place}.a.build.state": 0,
        f"{place}.b.build.state": 1,
        f"{place}.c.build.state": 3,
        f"{place}.a.provider.east.upload.state": 2,
        f"{place}.a.provider.west.upload.state": 0,
    }


def test_requests_to_build(heard: Heard) -> None:
    send_requests(heard, {"a": True, "b": False, "c": True})
    assert dict(heard.all) == {
        "nodepool.image_build_requests": 2,
        "nodepool.image.a.image_build_requests": 1,
        "nodepool.image.b.image_build_requests": 0,
        "nodepool.image.c.image_build_requests": 1,
    }


def test_what_is_not_there_any_more_is_sent_as_idle_once(heard: Heard) -> None:
    """An image leaves the configuration while it is uploaded; a gauge keeps its last value."""
    told: set[tuple[str, str]] = set()
    send_upload_states(heard, "nb01", with_gone({("a", "east"): UPLOADING, ("b", "east"): IDLE}, told))
    heard.all.clear()
    send_upload_states(heard, "nb01", with_gone({("b", "east"): IDLE}, told))
    place = "nodepool.builder.nb01.image"
    assert heard.all == [
        (f"{place}.b.provider.east.upload.state", 0),
        (f"{place}.a.provider.east.upload.state", 0),
    ]
    assert with_gone({("b", "east"): IDLE}, told) == {("b", "east"): IDLE}
