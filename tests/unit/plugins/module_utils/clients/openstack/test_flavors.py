# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.flavors import choose_flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudRefused

FLAVORS = [
    Flavor("1", "m1.large", 4, 8192),
    Flavor("2", "m1.small", 1, 2048),
    Flavor("3", "ssd-b", 2, 4096),
    Flavor("4", "ssd-a", 2, 4096),
    Flavor("5", "small", 1, 1024),
]


@pytest.mark.parametrize(
    ("name", "min_ram", "found"),
    [
        ("m1.small", 0, "2"),
        ("small", 0, "5"),
        ("3", 0, "3"),
        (None, 2000, "2"),
        (None, 2049, "4"),
        ("ssd", 1, "4"),
        ("ssd-b", 1, "3"),
        ("small", 1025, "2"),
    ],
)
def test_exact_name_or_smallest_with_enough_ram(name: str | None, min_ram: int, found: str) -> None:
    assert choose_flavor(FLAVORS, name, min_ram).id == found


@pytest.mark.parametrize(("name", "min_ram"), [("m1", 0), ("SSD", 1), (None, 8193), ("ssd", 5000)])
def test_none_that_fits_is_an_error_that_shows_what_there_is(name: str | None, min_ram: int) -> None:
    with pytest.raises(CloudRefused, match=r"m1\.small \(2048 MiB\)") as caught:
        choose_flavor(FLAVORS, name, min_ram)
    assert str(name or min_ram) in str(caught.value)


@given(st.permutations(FLAVORS), st.integers(1, 9000))
def test_the_order_of_the_list_does_not_matter(flavors: list[Flavor], min_ram: int) -> None:
    fitting = [flavor for flavor in FLAVORS if flavor.ram >= min_ram]
    if fitting:
        assert choose_flavor(flavors, None, min_ram) == min(fitting, key=lambda flavor: (flavor.ram, flavor.name))
    else:
        with pytest.raises(CloudRefused):
            choose_flavor(flavors, None, min_ram)
