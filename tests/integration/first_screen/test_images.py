# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that are not built, not uploaded or not usable: the first screen names the image, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builder_case import BuilderSite, image
from tests.support.first_screen import (
    PATIENCE,
    Trouble,
    ask_long_ago,
    assert_named,
    assert_named_while_a_launcher_works,
    view_of,
)
from tests.support.image_case import Builder
from tests.support.launcher_case import Site
from tests.support.zookeeper_server import ZooKeeperServer

FILE = "PUT /images/{id}/file"


@pytest.fixture
def builder(site: Site) -> Iterator[Builder]:
    """The host of a builder whose builds are there, and cloud ``one`` that takes its image ``tiny``."""
    made = Builder(site)
    made.configure()
    yield made
    made.close()


@pytest.fixture
def building(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[BuilderSite]:
    """The host of a builder that builds."""
    made = BuilderSite(tmp_path, zookeeper)
    yield made
    made.close()


def test_a_build_that_fails(building: BuilderSite) -> None:
    building.configure(image(env_vars={"FAKE_FAIL": str(building.config)}))
    building.run()
    said = ("fake", "1 build failed: ", "exit code 7", "it cannot go on")
    assert_named(building.config, Trouble(said, "correct the image, or the machine of the builder"))


def test_an_upload_that_fails(builder: Builder) -> None:
    builder.build()
    builder.site.cloud.fault(FILE, "status", status=413, message="Image exceeds the storage quota")
    builder.run()
    said = ("tiny at one", "1 upload failed: ", "Image exceeds the storage quota")
    assert_named(view_of(builder.site), Trouble(said, "the builder retries; the last good upload stays in use"))


def test_a_provider_without_an_upload(builder: Builder) -> None:
    said = ("tiny at one", "there is no ready upload")
    assert_named(view_of(builder.site), Trouble(said, "check that a builder works; see what its last upload said"))


def test_an_upload_that_somebody_has_deleted(builder: Builder) -> None:
    """Nothing tells it before a node is wanted."""
    builder.build()
    builder.run()
    (upload,) = builder.uploads()
    options = builder.options()
    assert options.client(options.load().providers["one"]).images.delete(upload.external_id or "")
    trouble = Trouble(
        ("one/main", "image tiny", "[owner: image]"), "see what one of them waits for", begin=lambda site: None
    )
    assert_named_while_a_launcher_works(builder.site, ask_long_ago, trouble)


def test_a_new_build_whose_servers_fail_while_those_of_the_one_before_do_not(builder: Builder) -> None:
    builder.build()
    builder.run()
    second = builder.build()
    site, requestor = builder.site, builder.site.requestor

    def newest_fails(_site: Site) -> None:
        # The launcher has made nodes of the first before the second is there.
        for _turn in range(3):
            requestor.wait_for(requestor.ask("small"), seconds=PATIENCE)
        builder.run()
        new = next(upload.external_id for upload in builder.uploads() if upload.build_id == second.id)
        site.cloud.fault("POST /servers", "error", image=new, seconds=0.0, message="Image is unacceptable: no kernel")
        for _turn in range(4):
            requestor.wait_for(requestor.ask("small"), seconds=3 * PATIENCE)

    figures = (f"tiny build {second.id[:8]}: 0 of ", "the build before: ", "the last failure: ")
    said = ("tiny at one", "1 build not used", *figures, "Image is unacceptable: no kernel")
    trouble = Trouble(said, "correct the image and build it again, or restore", begin=lambda site: None)
    assert_named_while_a_launcher_works(site, newest_fails, trouble)
