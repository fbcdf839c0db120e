# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A good build and a broken one, on real machines: everything that shows their figures shows the same ones.

Then people decide about the builds: they go back, come back, and revoke a build at once and for later.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.integration.gate.conftest import GatedSite
from tests.integration.statsd.conftest import Listener, listener
from tests.support.ansible_run import run_module
from tests.support.browser import browser, program, shoot, visit
from tests.support.command import nodepoolctl
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE
from tests.support.web_service import RunningService, running

__all__ = ["listener"]
SECONDS = 120.0
METRIC = re.compile(
    r'^stackci_nodepool_image_build_launches\{build="(\w+)",image="tiny",provider="one",result="(\w+)"\} (.*)$'
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@dataclass
class Faces:
    """All that shows the figures of builds; each answer is (good, bad) as "READY of TRIED", or text that has them."""

    gated: GatedSite
    good: Build
    bad: Build

    def of_builds(self, found: dict[str, str]) -> tuple[str, str]:
        return found.get(self.good.id[:8], ""), found.get(self.bad.id[:8], "")

    def module(self) -> dict[str, dict[str, Any]]:
        """Of image_info: build → its row."""
        result = run_module("image_info", self.gated.site.files(), self.gated.folder).result
        return {row["build_id"]: row for row in result["uploads"]}

    def rows(self) -> tuple[str, str]:
        launches = {build[:8]: row["launches"] for build, row in self.module().items()}
        return self.of_builds({build: f"{row['ready']} of {row['tried']}" for build, row in launches.items()})

    def metrics(self, service: RunningService) -> tuple[str, str]:
        found: dict[str, dict[str, int]] = {}
        for line in service.get("/metrics").text.splitlines():
            if match := METRIC.match(line):
                found.setdefault(match[1], {})[match[2]] = int(float(match[3]))
        return self.of_builds({build: f"{one['ready']} of {sum(one.values())}" for build, one in found.items()})

    def page(self, service: RunningService, chromium: Browser, name: str) -> tuple[tuple[str, str], str]:
        """The cells of the page of images, and its text."""
        with visit(chromium, f"{service.address}images", width=1400) as visited:
            expect(visited.page.locator("#live-text")).to_contain_text("live")
            cells = {
                build.id[:8]: visited.page.locator(
                    f'tr[data-key^="{build.id} one"] td[data-title=Launches]'
                ).inner_text()
                for build in (self.good, self.bad)
            }
            shoot(visited.page, f"builds-{name}")
            text = visited.page.inner_text("#content")
        return self.of_builds({build: cell.removesuffix(" ready") for build, cell in cells.items()}), text

    def used_as(self, service: RunningService, chromium: Browser, build: Build) -> list[str]:
        """What the page says of a build and of its upload."""
        with visit(chromium, f"{service.address}images", width=1400) as visited:
            cells = visited.page.locator(f'tr[data-key^="{build.id}"] td[data-title="Used as"]')
            expect(cells).to_have_count(2)
            texts: list[str] = cells.all_inner_texts()
            return texts

    def command(self, *words: str) -> str:
        ran = nodepoolctl(*words, folder=self.gated.folder, config=self.gated.site.config)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return " ".join(ran.stdout.split())

    def explanation(self, request: str) -> str:
        options = {"config": str(self.gated.site.config), "ids": [request]}
        return str(run_module("request_info", options, self.gated.folder).result["explanations"][0]["builds"])


def served(gated: GatedSite, count: int) -> str:
    """That many requests are fulfilled; the last one."""
    requestor = gated.site.requestor
    asked = [requestor.ask("small") for _unused in range(count)]
    for request in asked:
        requestor.wait_for(request, seconds=SECONDS)
    return asked[-1]


def made_from(gated: GatedSite, request: str) -> str:
    (node,) = gated.site.requestor.wait_for(request, seconds=SECONDS)["nodes"]
    return str(gated.site.requestor.node(node)["image_id"]).split("/")[5]


def in_seconds(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()


def heard(listener: Listener, result: str) -> int:
    return sum(1 for line in listener.heard() if line == f"nodepool.launch.image.{IMAGE}.{result}:1|c")


def uploaded(gated: GatedSite, *, broken: bool = False) -> Build:
    """A new build in the cloud; the guests of a *broken* one start no sshd."""
    build = gated.build()
    gated.builder.run()
    (upload,) = [one for one in gated.builder.uploads("one") if one.build_id == build.id]
    if broken:
        gated.site.cloud.fault("POST /servers", "unreachable", image=upload.external_id)
    return build


@pytest.mark.long
def test_all_that_shows_a_broken_build_shows_the_same_figures(
    gated: GatedSite, listener: Listener, chromium: Browser
) -> None:
    program()
    gated.configure(launch={"boot_timeout": 10})
    gated.settings(None)
    site = gated.site
    site.cloud.quota(instances=60, cores=200)
    good = uploaded(gated)
    with site.stay(), running(site.config) as service:
        served(gated, 12)
        bad = uploaded(gated, broken=True)
        served(gated, 8)
        eventually(lambda: "one" in gated.verdict(bad).fallen_back, SECONDS)
        last = served(gated, 3)
        assert made_from(gated, last) == good.id
        faces = Faces(gated, good, bad)
        # What was counted is stored every ten seconds; by then nothing is under way any more.
        eventually(
            lambda: (
                faces.metrics(service)
                == (
                    f"{heard(listener, 'ready')} of {heard(listener, 'ready')}",
                    f"0 of {heard(listener, 'error.image')}",
                )
            ),
            SECONDS,
        )
        figures = worked, failed = faces.metrics(service)
        assert int(worked.partition(" ")[0]) >= 23 and 3 <= int(failed.rpartition(" ")[2]) <= 5
        assert faces.rows() == figures
        sentence = f"{IMAGE} build {bad.id[:8]}: {failed} in one; the build before: {worked}"
        row = faces.module()[bad.id]
        assert row["launches"]["text"] == sentence and row["launches"]["failed"] == {
            "image": int(failed.rpartition(" ")[2])
        }
        assert (row["used"], row["current"]) == (False, False)
        assert row["verdict"].startswith(f"not used at one by decision of the launcher: {sentence}; the last failure: ")
        cells, text = faces.page(service, chromium, "given-up")
        assert cells == figures
        told = f"{sentence}; the last failure: unreachable: "
        for shown in (text, faces.command("status"), faces.command("why", last), faces.explanation(last)):
            assert told in shown and "not used at one by decision of the launcher" in shown
            assert set(re.findall(r"the build before: (\d+ of \d+)", shown)) == {worked}
        assert faces.used_as(service, chromium, bad) == ["not used", "not used"]
        assert faces.used_as(service, chromium, good) == ["current build", "current"]


def test_people_go_back_come_back_and_announce_it(gated: GatedSite, chromium: Browser) -> None:
    gated.configure()
    gated.settings(None)
    site = gated.site
    site.cloud.quota(instances=60, cores=200)
    old = uploaded(gated)
    with site.stay(), running(site.config) as service:
        served(gated, 3)
        new = uploaded(gated)
        assert made_from(gated, served(gated, 3)) == new.id
        faces = Faces(gated, old, new)
        faces.command("revoke", IMAGE, "--reason", "its python is broken")
        assert made_from(gated, served(gated, 1)) == old.id
        for shown in (faces.command("status"), faces.page(service, chromium, "revoked")[1]):
            assert f"{IMAGE} build {new.id} at one: revoked by hand: its python is broken" in shown
        assert faces.used_as(service, chromium, new) == ["not used", "not used"]
        faces.command("restore", IMAGE)
        assert made_from(gated, served(gated, 1)) == new.id
        assert faces.used_as(service, chromium, new) == ["current build", "current"]
        faces.command("revoke", IMAGE, "--reason", "a mirror moves", "--at", in_seconds(3600))
        row = faces.module()[new.id]
        assert re.fullmatch(r"revoked in \d+ s by hand: a mirror moves", row["verdict"]) and row["used"]
        assert made_from(gated, served(gated, 1)) == new.id
        faces.command("revoke", IMAGE, "--reason", "a mirror moves", "--at", in_seconds(3))
        eventually(lambda: not faces.module()[new.id]["used"], SECONDS)
        assert made_from(gated, served(gated, 1)) == old.id
        faces.command("restore", IMAGE)
        assert made_from(gated, served(gated, 1)) == new.id
