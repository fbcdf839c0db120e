# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image that has been gone for long never becomes ready, and the gate asks glance about it only if nothing else
shows that it is there.

The whole uploads cycle is the real one, in virtual time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.presence import (
    APART,
    EVERY,
    PROVEN,
    Presence,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import APPROVED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload
from tests.support import virtual_builder
from tests.support.build_case import build_id
from tests.support.config_texts import parse
from tests.support.gate_site import GateSite, gate_site
from tests.support.gate_world import document
from tests.support.virtual_builder import IMAGE

GOOD = build_id(2)
BEFORE, AFTER = "before the playbook on a canary", "after the playbook on a canary"
LONG = PROVEN + 100.0
"""Seconds of a playbook after which the launch of its node proves nothing any more."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GateSite]:
    with gate_site(tmp_path) as made:
        made.run(5)
        yield made


@pytest.fixture
def long_playbook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_builder, "PLAY", LONG)


@pytest.fixture
def no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list is read while an image is tested, as in the first upload to a provider."""
    monkeypatch.setattr(Presence, "sighting", lambda presence, upload: None)


def at(site: GateSite, moment: str, what: Callable[[], object]) -> None:
    """Do something in glance before or after the playbook of the next canary, which passes."""
    there: list[str] = []

    def watch(point: str) -> bool:
        if point == moment and not there:
            there.append(point)
            what()
        return False

    site.builder_dies = watch


def under_upload(site: GateSite) -> Upload:
    (found,) = [one for one in site.world.store.images.uploads(IMAGE, "east") if one.state == "uploading"]
    return found


def delete(site: GateSite, gone: list[str]) -> None:
    gone.append(site.world.clouds["east"].own_images.pop(under_upload(site).external_id or "").id)


def set_status(site: GateSite, status: str) -> None:
    images = site.world.clouds["east"].own_images
    image = images[under_upload(site).external_id or ""]
    images[image.id] = replace(image, status=status)


def told(site: GateSite, text: str) -> bool:
    return any(text in str(line) for line in site.builder.lines)


def is_used(site: GateSite) -> bool:
    return site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD]


@pytest.mark.usefixtures("long_playbook")
@pytest.mark.parametrize("lists", [True, False])
def test_an_image_that_is_gone_for_long_never_becomes_ready(
    site: GateSite, lists: bool, request: pytest.FixtureRequest
) -> None:
    if not lists:
        request.getfixturevalue("no_lists")
    gone: list[str] = []
    at(site, BEFORE, lambda: delete(site, gone))
    site.bake()
    assert site.run(1200, until=lambda: bool(gone) and told(site, f"image {gone[0]} is no longer in the cloud"))
    assert site.verdicts() == {} and site.builds_at("east") == [build_id(1)]
    assert site.run(4000, until=lambda: is_used(site))
    assert gone[0] not in [one.external_id for one in site.ready("east")]


@pytest.mark.usefixtures("long_playbook")
def test_an_image_that_is_deactivated_for_long_waits(site: GateSite) -> None:
    at(site, BEFORE, lambda: set_status(site, "deactivated"))
    site.bake()
    assert site.run(1200, until=lambda: told(site, "passed on a canary, but its image is deactivated"))
    assert site.verdicts() == {} and site.builds_at("east") == [build_id(1)]
    set_status(site, "active")
    assert site.run(4000, until=lambda: is_used(site))


def test_an_image_that_is_deleted_right_before_its_decision_is_found_by_the_next_list(site: GateSite) -> None:
    """As any image is that becomes ready."""
    gone: list[str] = []
    at(site, AFTER, lambda: delete(site, gone))
    site.bake()
    assert site.run(300, until=lambda: GOOD in site.builds_at("east"))
    assert site.run(EVERY + 2 * APART, until=lambda: told(site, f"image {gone[0]} is not in the cloud"))
    assert site.run(900, until=lambda: is_used(site) and gone[0] not in [one.external_id for one in site.ready("east")])
    assert site.verdicts() == {GOOD: APPROVED}


def calls_of_a_build(folder: Path, *, tested: bool, first: bool = False) -> Counter[str]:
    """Count the builder's calls for one build at the provider that tests.

    :param first: there is no upload of the image at the provider yet.
    """
    with gate_site(folder) as site:
        site.run(5)
        if not tested:
            site.passed.add(GOOD)
            site.world.config, site.world.written = parse(document("east", "west")), 1
        if first:
            for upload in site.ready("east"):
                site.world.store.images.delete_upload(upload)
            site.check = lambda: None  # type: ignore[method-assign]
        site.run(60)
        began = site.world.agenda.now
        site.bake()
        site.run(6 * EVERY)
        assert is_used(site) or (first and GOOD in site.builds_at("east"))
        clients = [one for one in site.builder.clients if one.provider == "east"]
        return Counter(kind for one in clients for moment, kind in one.calls if moment >= began)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """The calls for a build without a gate; so no playbook runs, however long it would take."""
    return calls_of_a_build(tmp_path_factory.mktemp("without"), tested=False)


def test_the_builder_makes_no_call_more_for_a_build_that_passes(tmp_path: Path, without: Counter[str]) -> None:
    assert without["POST /images"] == 1 and without["GET /images"] >= 5
    assert calls_of_a_build(tmp_path / "tested", tested=True) == without


@pytest.mark.usefixtures("long_playbook")
def test_nor_after_a_playbook_that_takes_long(tmp_path: Path, without: Counter[str]) -> None:
    """The lists that are read for the build in use show the image under test, too."""
    assert calls_of_a_build(tmp_path / "tested", tested=True) == without


@pytest.mark.usefixtures("long_playbook")
def test_nor_for_the_first_build_of_a_provider(tmp_path: Path) -> None:
    """Glance is asked about the image, but it is listed so much later."""
    untested = calls_of_a_build(tmp_path / "untested", tested=False, first=True)
    tested = calls_of_a_build(tmp_path / "tested", tested=True, first=True)
    assert tested["GET /images/{id}"] == 1 and tested.total() <= untested.total()
