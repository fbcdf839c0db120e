# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics about images: ages of the newest, counts by state, failures."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting import metric_catalog as catalog
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import Metric
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_samples import gauges_of
from tests.support.config_texts import parse
from tests.support.tree_reading import NOW, reading_of
from tests.support.world import label, provider_document, site

CONFIG = parse(
    site(
        provider_document(
            "east", {"name": "main", "labels": [label("small")]}, diskimages=[{"name": "debian"}, {"name": "fedora"}]
        ),
        diskimages=[{"name": "debian", "rebuild-age": 3600}, {"name": "fedora", "pause": True}],
    )
    | {"images-dir": "/srv/images"}
)
OLD, NEW, FAILED = ("0" * 31 + digit for digit in "123")
ROOT = "/nodepool/images/debian"


def build(build_id: str, state: str, age: float) -> dict[str, Any]:
    return {f"{ROOT}/builds/{build_id}": {"state": state, "state_time": NOW - age}}


def upload(build_id: str, provider: str, state: str, age: float, number: int = 1) -> dict[str, Any]:
    path = f"{ROOT}/builds/{build_id}/providers/{provider}/images/{number:010d}"
    return {path: {"state": state, "state_time": NOW - age}}


DOCUMENTS = {
    **build(OLD, "ready", 9000),
    **build(NEW, "ready", 1000),
    **build(FAILED, "failed", 10),
    **upload(OLD, "east", "ready", 8000),
    **upload(OLD, "west", "ready", 8000),
    **upload(NEW, "east", "ready", 500),
    **upload(NEW, "west", "uploading", 5),
    "/nodepool/stackci/image-builds/debian": {"failures": 2, "failed_at": NOW},
    "/nodepool/stackci/image-uploads/east/debian": {"failures": 4, "failed_at": NOW},
    "/nodepool/images/odd/builds/nonsense": {"state": "ready"},
}


def values(metric: Metric, more: dict[str, Any] | None = None) -> dict[tuple[str, ...], float]:
    return gauges_of(reading_of({**DOCUMENTS, **(more or {})}), CONFIG, NOW).values[metric]


def test_the_newest_build_and_what_each_provider_has_of_it():
    assert values(catalog.IMAGE_BUILT) == {("debian",): NOW - 1000}
    assert values(catalog.UPLOAD_BUILT) == {("east", "debian"): NOW - 1000, ("west", "debian"): NOW - 9000}
    assert values(catalog.IMAGE_REBUILD_AGE) == {("debian",): 3600, ("fedora",): 86400}


def test_builds_and_uploads_by_state():
    builds = values(catalog.IMAGE_BUILDS)
    assert (builds["debian", "ready"], builds["debian", "failed"], builds["fedora", "ready"]) == (2, 1, 0)
    assert builds["odd", "ready"] == 0
    assert values(catalog.UPLOADS)["west", "debian", "uploading"] == 1


def test_failures_in_a_row():
    assert values(catalog.IMAGE_FAILURES) == {("debian",): 2, ("fedora",): 0}
    assert values(catalog.UPLOAD_FAILURES) == {("east", "debian"): 4, ("east", "fedora"): 0}


def test_paused_by_the_configuration_or_by_the_flag():
    paused = values(catalog.IMAGE_PAUSED, {f"{ROOT}/pause": b""})
    assert (paused["debian",], paused["fedora",], paused["odd",]) == (1, 1, 0)
    assert values(catalog.IMAGE_PAUSED)["debian",] == 0


def test_times_that_are_none_are_left_out():
    odd = {f"{ROOT}/builds/{NEW}": {"state": "ready", "state_time": "soon"}}
    assert values(catalog.IMAGE_BUILT, odd) == {("debian",): NOW - 9000}
