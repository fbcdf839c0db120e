# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of the builder on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build import full_name
from tests.integration.statsd.conftest import Listener
from tests.integration.uploads.conftest import builder
from tests.support.builder_case import BuilderSite, image
from tests.support.image_case import IMAGE, Builder
from tests.support.zookeeper_server import ZooKeeperServer

__all__ = ["builder"]


@pytest.fixture
def builds(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[BuilderSite]:
    made = BuilderSite(tmp_path, zookeeper)
    yield made
    made.close()


def values(lines: list[str], name: str, kind: str) -> list[float]:
    """Of a figure, in the order in which they came."""
    found = [line.removeprefix(f"{name}:") for line in lines if line.startswith(f"{name}:")]
    return [float(value) for value, _bar, what in (line.partition("|") for line in found) if what == kind]


def test_builds_are_heard_of(builds: BuilderSite, listener: Listener) -> None:
    fail = builds.folder / "fail"
    fail.touch()
    builds.configure(image("good"), image(env_vars={"FAKE_FAIL": str(fail)}), providers={"one": "qcow2"})
    builds.request()
    rows = {row["image"]: row for row in builds.run()["builds"]}
    lines = listener.heard()
    place = "nodepool.dib_image_build"
    assert values(lines, f"{place}.good.qcow2.size", "g") == [rows["good"]["sizes"]["qcow2"]]
    assert values(lines, f"{place}.good.status.rc", "g") == [0]
    assert values(lines, f"{place}.fake.status.rc", "g") == [rows["fake"]["exit_code"]] != [0]
    (duration,) = values(lines, f"{place}.good.status.duration", "ms")
    assert duration == pytest.approx(1000 * rows["good"]["seconds"], abs=2)
    assert len(values(lines, f"{place}.good.status.last_build", "g")) == 1
    assert values(lines, "nodepool.image_build_requests", "g")[:2] == [1, 0], "asked for, then being built"
    states = values(lines, f"nodepool.builder.{full_name()}.image.good.build.state", "g")
    assert [state for state, before in zip(states, [None, *states], strict=False) if state != before] == [0, 1, 0]


def test_uploads_are_heard_of(builder: Builder, listener: Listener) -> None:
    builder.configure()
    builder.build()
    (row,) = builder.run()["uploads"]["done"]
    lines = listener.heard()
    name = f"nodepool.image_update.{IMAGE}.one"
    assert values(lines, name, "c") == [1]
    assert values(lines, name, "ms")[0] == pytest.approx(1000 * row["seconds"], abs=2)
    calls = [line for line in lines if line.startswith("openstack.api.image.PUT.") and line.endswith(".204:1|c")]
    assert calls, "the bytes of the image"
    states = values(lines, f"nodepool.builder.{full_name()}.image.{IMAGE}.provider.one.upload.state", "g")
    assert [state for state, before in zip(states, [None, *states], strict=False) if state != before] == [2, 0]
