# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A label that asks for what its cloud does not have: the first screen names what is wrong and the remedy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.first_screen import Trouble, ask_long_ago, assert_named_while_a_launcher_works
from tests.support.launcher_case import Site, label, pool, provider

CORRECT = "correct the label in nodepool.yaml"


def it_is_asked_for(site: Site) -> None:
    site.requestor.ask("small")


def no_pool_offers_it(site: Site) -> None:
    site.requestor.ask("typo")


def of(**options: object) -> Callable[[Site], None]:
    """A configuration in which the label has these options."""
    return lambda site: site.configure(provider("one", pool("main", label("small", **options))))


def in_pool(**options: object) -> Callable[[Site], None]:
    """A configuration in which the pool has these options."""
    return lambda site: site.configure(provider("one", pool("main", label("small"), **options)))


def without_its_image(site: Site) -> None:
    images = [{"name": "debian-12", "image-name": "debain", "username": "zuul"}]
    site.configure(provider("one", pool("main", label("small")), cloud_images=images))


def two_networks_of_that_name(site: Site) -> None:
    in_pool()(site)
    site.cloud.fault("GET /networks*", "edited", set={"networks.*.name": "private"})


def two_groups_of_that_name(site: Site) -> None:
    message = "Multiple security_group matches found for name 'web', use an ID to be more specific."
    in_pool(security_groups=["web"])(site)
    site.cloud.fault(
        "POST /servers", "status", status=409, body={"conflictingRequest": {"code": 409, "message": message}}
    )


def the_image_was_deactivated(site: Site) -> None:
    site.cloud.fault("GET /images*", "edited", set={"images.*.status": "deactivated", "status": "deactivated"})
    ask_long_ago(site)


def the_request_is_larger_than_the_pool(site: Site) -> None:
    site.requestor.ask("small", "small", "small")


ASKED: dict[str, Trouble] = {
    "no flavor": Trouble(("one/main", "lrage", "[owner: label]"), CORRECT, begin=of(flavor_name="lrage")),
    "no image": Trouble(("one/main", "debain", "[owner: label]"), CORRECT, begin=without_its_image),
    "no key pair": Trouble(("one/main", "somebody", "[owner: label]"), CORRECT, begin=of(key_name="somebody")),
    "no network": Trouble(("one/main", "privat", "[owner: label]"), CORRECT, begin=in_pool(networks=["privat"])),
    "no zone": Trouble(("one/main", "az9", "[owner: label]"), CORRECT, begin=in_pool(availability_zones=["az9"])),
    "no group": Trouble(("one/main", "wbe", "[owner: label]"), CORRECT, begin=in_pool(security_groups=["wbe"])),
    "two networks": Trouble(("one/main", "private", "[owner: label]"), CORRECT, begin=two_networks_of_that_name),
    "two groups": Trouble(("one/main", "web", "[owner: label]"), CORRECT, begin=two_groups_of_that_name),
    "user data": Trouble(("one/main", "userdata", "[owner: label]"), CORRECT, begin=of(userdata="x" * 70_000)),
}
MADE: dict[Callable[[Site], None], Trouble] = {
    no_pool_offers_it: Trouble(("one/main does not offer label typo", "[owner: label]"), CORRECT),
    the_image_was_deactivated: Trouble(
        ("one/main", "is deactivated", "openstack image set --activate", "[owner: label]"), CORRECT
    ),
    the_request_is_larger_than_the_pool: Trouble(
        ("one/main", "3 instances needed", "[owner: request]"),
        "have its requestor ask for less",
        begin=in_pool(max_servers=2),
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_label_with_an_error_is_named_as_soon_as_it_is_asked_for(site: Site, name: str) -> None:
    assert_named_while_a_launcher_works(site, it_is_asked_for, ASKED[name])


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_what_cannot_be_served_is_named(site: Site, make: Callable[[Site], None]) -> None:
    assert_named_while_a_launcher_works(site, make, MADE[make])
