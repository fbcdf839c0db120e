# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Something is used up: the first screen names what, where, and who waits for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.first_screen import PATIENCE, Trouble, ask_long_ago, assert_named_while_a_launcher_works
from tests.support.launcher_case import Site, label, pool, provider

CREATE = "POST /servers"
QUOTA = "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"
NO_HOST = "No valid host was found."
VOLUMES = (
    "Build of instance 1b9f2f6e-9f5d-4f0a-8d51-0c3f6c6ce0aa aborted: VolumeLimitExceeded: Maximum number of volumes"
    " allowed (10) exceeded for quota 'volumes'."
)


def the_quota_is_lower_than_its_limits_say(site: Site) -> None:
    site.cloud.fault(CREATE, "status", status=403, body={"forbidden": {"code": 403, "message": QUOTA}})
    site.requestor.ask("small")


def no_host_takes_the_flavor(site: Site) -> None:
    site.cloud.fault(CREATE, "error", seconds=0.0, message=NO_HOST)
    for _turn in range(3):
        site.requestor.ask("small")


def with_one_server(site: Site) -> None:
    site.configure(provider("one", pool("main", label("small"), max_servers=1)))


def the_pool_is_full(site: Site) -> None:
    site.requestor.accept(_served(site))
    ask_long_ago(site)


def the_cloud_is_full_of_others(site: Site) -> None:
    site.cloud.quota(instances=3)
    site.cloud.outsiders(3)
    ask_long_ago(site)


def with_floating_ips(site: Site) -> None:
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", label("small"), auto_floating_ip=True)))


def with_no_floating_ip(site: Site) -> None:
    """The launcher reads the limits before the request is there; otherwise the refusal of the first create is told."""
    with_floating_ips(site)
    site.cloud.quota(floating_ips=0)


def no_floating_ip_is_left(site: Site) -> None:
    site.requestor.ask("small")


def with_volumes(site: Site) -> None:
    site.configure(provider("one", pool("main", label("small", boot_from_volume=True, volume_size=10))))


def no_volume_is_left(site: Site) -> None:
    site.cloud.quota(volumes=0)
    ask_long_ago(site)


def cinder_refuses_a_volume_in_a_build(site: Site) -> None:
    site.cloud.fault(CREATE, "error", seconds=0.0, message=VOLUMES)
    site.requestor.ask("small")


def no_port_is_left(site: Site) -> None:
    site.cloud.fault(CREATE, "quota", resources=["ports"])
    site.requestor.ask("small")


def with_spares(site: Site) -> None:
    site.configure(provider("one", pool("main", label("small"))), labels={"small": {"min-ready": 3}})
    site.cloud.quota(instances=1)


def the_quota_is_one_server(site: Site) -> None:
    """The configuration makes the trouble."""


def with_a_tenants_limit(site: Site) -> None:
    limits = [{"tenant-name": "tenant-one", "max-servers": 1}]
    site.configure(provider("one", pool("main", label("small"))), tenant_resource_limits=limits)


def a_tenant_has_its_share(site: Site) -> None:
    site.requestor.accept(_served(site))
    ask_long_ago(site)


def _served(site: Site) -> str:
    request = site.requestor.ask("small")
    site.requestor.wait_for(request, seconds=PATIENCE)
    return request


TROUBLES: dict[Callable[[Site], None], Trouble] = {
    the_quota_is_lower_than_its_limits_say: Trouble(
        ("one/main", "frozen", QUOTA), "end it by hand after the limit was raised"
    ),
    no_host_takes_the_flavor: Trouble(("one/main: frozen", NO_HOST), "none is needed"),
    the_pool_is_full: Trouble(
        ("one/main", "1 of 1 instance used", "[owner: capacity]"),
        "see what one of them waits for",
        begin=with_one_server,
    ),
    the_cloud_is_full_of_others: Trouble(("one/main", "[owner: capacity]"), "see what one of them waits for"),
    no_floating_ip_is_left: Trouble(
        ("1 floating-ip needed, one can never hold more than 0", "[owner: request]"),
        "raise the limit that is named",
        begin=with_no_floating_ip,
    ),
    no_volume_is_left: Trouble(
        ("1 volume needed, one can never hold more than 0", "[owner: request]"), "raise the limit", begin=with_volumes
    ),
    cinder_refuses_a_volume_in_a_build: Trouble(
        ("one/main", "frozen", "volumes"), "end it by hand after the limit was raised", begin=with_volumes
    ),
    no_port_is_left: Trouble(("one/main", "frozen", "ports"), "end it by hand after the limit was raised"),
    the_quota_is_one_server: Trouble(
        ("small", "2 of 3 ready nodes are missing"), "check that the clouds", begin=with_spares
    ),
    a_tenant_has_its_share: Trouble(("tenant tenant-one has 0 left",), "see what one", begin=with_a_tenants_limit),
}


@pytest.mark.parametrize("make", TROUBLES, ids=lambda make: make.__name__)
def test_what_is_used_up_is_named(site: Site, make: Callable[[Site], None]) -> None:
    assert_named_while_a_launcher_works(site, make, TROUBLES[make])
