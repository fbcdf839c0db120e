# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A zone without hosts is tried once in a while, whichever flavor asks, and nobody else's lack keeps others away."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.freezing import LONGEST
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import HOSTS, REACH
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.narrow import (
    Shape,
    doubted,
    got,
    place_of_hosts,
    refused_narrow,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.freeze import Freeze
from ansible_collections.stackci.nodepool.plugins.module_utils.model.owner import CAPACITY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import CORES, RAM, Resources

NOW = 10_000.0
FLAVORS = {"small": (1, 1024), "medium": (2, 4096), "odd": (1, 8192), "large": (8, 16384)}


def hosts(flavor: str, zone: str = "az1", image: str = "debian", placement: str = "") -> str:
    return Shape(flavor, image, placement=placement).narrow_name(HOSTS, zone)


SIZES = {
    hosts(flavor, zone): Resources({CORES: cores, RAM: ram})
    for flavor, (cores, ram) in FLAVORS.items()
    for zone in ("az1", "az2")
}


def refused(name: str, now: float, known: dict[str, Freeze] | None = None) -> dict[str, Freeze]:
    return refused_narrow(known or {}, name, "full", CAPACITY, now, 0.5, now - 1)


def test_a_zone_is_doubted_from_the_first_refusal_until_that_is_old_or_a_launch_succeeds():
    name = hosts("large")
    once = refused(name, NOW)
    assert doubted(once, {}, {}, NOW + 1) == {name} == doubted(once, {}, {}, NOW + LONGEST - 1)
    assert not doubted(once, {}, {}, NOW + LONGEST)
    served = got(once[name], NOW + 30)
    assert served is not None and not doubted({name: served}, SIZES, {}, NOW + 31)


def test_where_a_flavor_has_no_hosts_one_that_is_no_smaller_has_none():
    known = refused(hosts("medium"), NOW)
    assert doubted(known, SIZES, {}, NOW + 1) == {hosts("medium"), hosts("large")}
    # A flavor with hosts of its own kind, of which servers came up there since, is not meant.
    assert doubted(known, SIZES, {hosts("large"): NOW + 1}, NOW + 2) == {hosts("medium")}
    assert doubted(known, SIZES, {hosts("large"): NOW - 1}, NOW + 2) == {hosts("medium"), hosts("large")}
    assert not doubted(known, SIZES, {}, NOW + LONGEST)


def test_one_try_tells_all_flavors_that_were_refused_there():
    known = refused(hosts("small"), NOW)
    later = refused(hosts("large"), NOW + LONGEST, known)
    assert {hosts("small"), hosts("large")} <= doubted(later, SIZES, {}, NOW + LONGEST + 1)
    elsewhere = refused(hosts("large", "az2"), NOW + LONGEST, known)
    assert hosts("small") not in doubted(elsewhere, SIZES, {}, NOW + LONGEST + 1)


def test_what_a_group_hints_or_another_image_lack_says_nothing_of_others():
    for name in (hosts("small", placement="server group web"), hosts("small", image="arm64")):
        assert doubted(refused(name, NOW), SIZES, {}, NOW + 1) == {name}
    reach = Shape("small", "debian", ("net",)).narrow_name(REACH, "az1")
    assert doubted(refused(reach, NOW), SIZES, {}, NOW + 1) == {reach}
    assert not place_of_hosts(reach) and not place_of_hosts(Shape("small", "debian").narrow_name(HOSTS, None))
