# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two builders that share the work."""

from __future__ import annotations

import json
import re
import shutil
import threading
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import (
    BUILDER_ID_FILE,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_identity import (
    BuilderElsewhere,
)
from tests.support.builder_case import Module, image
from tests.support.fixtures_zookeeper import eventually


def test_an_image_is_built_by_one_of_them_at_a_time(site):
    other = site.beside("other")
    images = [image(f"i{number}", env_vars={"FAKE_SECONDS": "1"}) for number in range(4)]
    site.configure(*images)
    other.configure(*reversed(images))
    results: dict[str, Any] = {}

    def work(name, builder):
        results[name] = builder.run()

    threads = [threading.Thread(target=work, args=pair) for pair in (("a", site), ("b", other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    built = {name: sorted(report["image"] for report in result["builds"]) for name, result in results.items()}
    assert sorted(built["a"] + built["b"]) == ["i0", "i1", "i2", "i3"]
    assert built["a"] and built["b"]
    for number in range(4):
        assert site.states(f"i{number}") == ["ready"]
    ids = {name: {report["build_id"] for report in result["builds"]} for name, result in results.items()}
    for builder, name in ((site, "a"), (other, "b")):
        assert {file.rpartition("-")[2].partition(".")[0] for file in builder.files()} == ids[name]


def test_one_that_waits_goes_on_when_the_other_is_killed(site):
    """Its record is left to its own builder; the image is built all the same."""
    other = site.beside("other")
    go = site.folder / "go"
    variables = {"FAKE_SECONDS": "100", "FAKE_GO": str(go)}
    other.configure(image(env_vars=variables))
    site.configure(image())
    store: list[Any] = []
    with Module(other) as module:
        theirs = other.running()
        eventually(other.processes)
        thread = threading.Thread(target=lambda: store.append(site.run(images=("fake",))))
        thread.start()
        module.process.kill()
        module.process.wait(10)
        thread.join(60)
    (result,) = store
    assert [report["state"] for report in result["builds"]] == ["ready"]
    assert result["abandoned"] == [] and site.records()[theirs]["state"] == "building"
    other.configure(image())
    assert other.run()["abandoned"] == [theirs]
    assert site.states() == ["failed", "ready"]
    assert other.files() == []


def test_what_only_a_dead_builder_has_is_built_again_after_a_told_delay(site):
    """Its build is ready, and it ended before the upload."""
    other, delay = site.beside("other"), 7200
    for builder in (site, other):
        builder.configure(
            image(parent="base"), image("base", abstract=True), providers={"east": "raw"}, zookeeper_timeout=2.0
        )
    settings = {"diskimages": [{"name": "base", "builder-gone-after": delay}]}
    (site.folder / "nodepool-settings.yaml").write_text(json.dumps(settings), encoding="utf-8")

    def told() -> str:
        """Why the image is not built now."""
        (row,) = site.run()["not_built"]
        assert row["code"] == "fresh"
        return str(row["reason"])

    with Module(other, until="deadline") as module:
        eventually(lambda: other.states() == ["ready"])
        ((theirs, record),) = other.records().items()
        assert "waits" not in told() and site.absent() == {}, "it may upload the image at any time"
        module.process.kill()
        module.process.wait(10)
    gone = f"east waits for it: its files are on the builder {record['builder']}; no cycle of that builder"
    eventually(lambda: gone in told() and site.absent())
    assert re.search(r"other builders do without them in [12] h", told())
    site.missed_for(delay)
    (report,) = site.run()["builds"]
    assert report["state"] == "ready" and gone in report["reason"] and "do without them now" in report["reason"]
    assert site.run()["builds"] == [], "the newest build is its own"
    assert other.run()["builds"] == [] and record["builder_id"] not in site.absent(), "it is back"
    assert theirs in site.records() and site.states() == ["ready", "ready"]


def test_a_builder_with_the_id_of_another_one_that_lives_builds_nothing(site):
    """It would take the build of the other one for an abandoned one of its own, and end it."""
    other = site.beside("other")
    site.configure(image(env_vars={"FAKE_SECONDS": "100"}))
    with Module(site) as module:
        building = site.running()
        other.configure(image("i2"), zookeeper_timeout=2.0)
        other.images_dir.mkdir()
        shutil.copy(site.images_dir / BUILDER_ID_FILE, other.images_dir)
        with pytest.raises(BuilderElsewhere, match="is alive on"):
            other.run()
        assert site.records()[building]["state"] == "building"
        assert other.states("i2") == [] and module.process.poll() is None
