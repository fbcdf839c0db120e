# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens around a gate and says nothing about the build: nothing is rejected, and what a person has said stays.

The whole uploads cycle is the real one, in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    APPROVED,
    HAND,
    HELD,
    REJECTED,
    REVOKED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload
from tests.support.build_case import build_id
from tests.support.config_texts import parse
from tests.support.gate_site import GateSite, gate_site
from tests.support.gate_world import document, gated
from tests.support.virtual_builder import IMAGE, passes_unless
from tests.support.world import Habit

GOOD = build_id(2)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[GateSite]:
    with gate_site(tmp_path) as made:
        made.run(5)
        yield made


def under_test(site: GateSite, build: str = GOOD) -> bool:
    """True while its canary is asked for."""
    record = site.world.store.gates.read("east", IMAGE)
    return record is not None and record.build == build and bool(record.request)


def told(site: GateSite, text: str) -> bool:
    return any(text in str(line) for line in site.builder.lines)


def test_a_revocation_that_is_announced_during_a_test_stays(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    later = site.world.agenda.now + 5000
    site.world.store.verdicts.change(
        IMAGE, GOOD, lambda known: known.given(REVOKED, "a bad kernel", HAND, site.world.agenda.now, later)
    )
    assert site.run(900, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    verdict = site.world.store.verdicts.of_build(IMAGE, GOOD)
    assert (verdict.state, verdict.by, verdict.since) == (REVOKED, HAND, later)


def test_a_revocation_at_once_ends_the_test(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    site.world.store.verdicts.change(
        IMAGE, GOOD, lambda known: known.given(REVOKED, "a bad kernel", HAND, site.world.agenda.now)
    )
    assert site.run(300, until=lambda: told(site, "rejected: revoked by hand: a bad kernel"))
    assert site.run(300, until=lambda: site.builds_at("east") == [build_id(1)] and site.requests() == [])
    assert site.verdicts() == {GOOD: REVOKED}


def test_a_build_that_is_held_waits_and_goes_on_when_it_is_released(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    change = site.world.store.verdicts.change
    change(IMAGE, GOOD, lambda known: known.given(HELD, "a look", HAND, site.world.agenda.now))
    site.run(5 * 3600)
    assert site.builds_at("east") == [build_id(1)]
    change(IMAGE, GOOD, lambda known: known.undone(site.world.agenda.now))
    assert site.run(900, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert not told(site, "not decided within")


def test_an_upload_whose_record_somebody_deletes_is_made_again_and_rejects_nothing(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    (record,) = [one for one in site.world.store.images.uploads(IMAGE, "east") if one.state == "uploading"]
    site.world.store.images.delete_upload(record)
    assert site.run(3000, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert site.verdicts() == {GOOD: "approved"}


def test_a_provider_that_leaves_while_its_canary_runs_makes_nothing_ready_untested(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    site.world.config, site.world.written = gated("west"), 1
    assert site.run(60, until=lambda: told(site, "its provider is no longer in the configuration"))
    asked = [one.provider for one in site.world.store.requests.list()]
    assert "east" not in asked, "nobody would ever serve it"
    assert site.run(3000, until=lambda: GOOD in site.builds_at("west"))
    assert GOOD in site.passed, "it was tested at the other provider"
    site.world.config, site.world.written = gated("east", "west"), 2
    assert site.run(3000, until=lambda: GOOD in site.builds_at("east"))
    assert site.verdicts() == {GOOD: "approved"}
    assert site.run(900, until=lambda: site.requests() == [])


def test_a_pool_that_is_switched_off_rejects_nothing(site: GateSite) -> None:
    """All requests for canaries are declined: no server shows that the image is bad."""
    config = site.world.config
    site.world.config, site.world.written = gated("east", "west", **{"max-servers": 0}), 1
    site.run(10)
    site.bake()
    assert site.run(900, until=lambda: told(site, "inconclusive, nothing is rejected, again in"))
    assert site.verdicts() == {} and site.builds_at("east") == [build_id(1)]
    site.world.config, site.world.written = config, 2
    assert site.run(3000, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])


def test_a_build_that_is_approved_while_its_bytes_are_sent_is_ready_without_a_test(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: told(site, "uploading build"))
    site.passed.add(GOOD)  # a person vouches for it
    site.world.store.verdicts.change(
        IMAGE, GOOD, lambda known: known.given(APPROVED, "looks fine", HAND, site.world.agenda.now)
    )
    assert site.run(120, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert site.requests() == [] and not told(site, "canary")
    verdict = site.world.store.verdicts.of_build(IMAGE, GOOD)
    assert (verdict.state, verdict.by, verdict.reason) == (APPROVED, HAND, "looks fine")


def test_seven_bad_days_in_a_row_leave_the_good_build_in_use(site: GateSite) -> None:
    site.builder.judge = passes_unless(lambda build: build != build_id(1), site.passed)
    for _day in range(7):
        site.bake()
        site.run(3600)
    assert list(site.verdicts().values()) == [REJECTED] * 7
    assert site.builds_at("east") == site.builds_at("west") == [build_id(1)]
    request = site.world.request("small", habit=Habit())
    assert site.run(300, until=lambda: request in site.world.fulfilled)
    assert site.made == {build_id(1)}
    states = {one.id: one.state for one in site.world.store.images.builds(IMAGE)}
    assert states[build_id(1)] == "ready" and len(states) <= 3, "the bad ones are cleared away"


def when_created(site: GateSite, what: Callable[[], object]) -> None:
    """Do something in glance at the moment in which the next server is created."""
    there: list[str] = []

    def watch(_number: int, point: str) -> None:
        if point == "before POST /servers" and not there:
            there.append(point)
            what()

    site.launcher_dies = watch


def under_upload(site: GateSite) -> Upload:
    (found,) = [one for one in site.world.store.images.uploads(IMAGE, "east") if one.state == "uploading"]
    return found


def test_an_image_that_somebody_deletes_during_its_test_is_uploaded_again_and_rejects_nothing(site: GateSite) -> None:
    images = site.world.clouds["east"].own_images
    when_created(site, lambda: images.pop(under_upload(site).external_id or ""))
    site.bake()
    assert site.run(300, until=lambda: told(site, "is no longer in the cloud"))
    assert site.verdicts() == {} and site.builds_at("east") == [build_id(1)]
    assert site.run(3000, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert site.verdicts() == {GOOD: APPROVED} and not told(site, "canary failed")


def set_status(site: GateSite, status: str) -> None:
    """Give the image under test another status in glance."""
    images = site.world.clouds["east"].own_images
    image = images[under_upload(site).external_id or ""]
    images[image.id] = replace(image, status=status)


def test_an_image_that_is_deactivated_during_its_test_is_inconclusive_until_it_is_active_again(site: GateSite) -> None:
    when_created(site, lambda: set_status(site, "deactivated"))
    site.bake()
    assert site.run(600, until=lambda: told(site, "inconclusive, nothing is rejected"))
    assert told(site, "its image is deactivated") and site.verdicts() == {}
    set_status(site, "active")
    assert site.run(3000, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert site.verdicts() == {GOOD: APPROVED}


def test_a_gate_that_is_removed_while_no_builder_runs_leaves_no_request_behind(site: GateSite) -> None:
    site.bake()
    assert site.run(60, until=lambda: under_test(site))
    site.builder.kill()
    site.passed.add(GOOD)  # the site says that it needs no test
    site.world.config, site.world.written = parse(document("east", "west")), 1
    site.builder = site._builder()
    assert site.run(900, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
    assert site.run(900, until=lambda: site.requests() == [])
