# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage: whose servers are whose, what nobody can see, and how near a limit is."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.server_list import Listing
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.usage import (
    SECOND_READING,
    Capacity,
    Usage,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    CloudLimits,
    Server,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

ONE = Resources({"instances": 1, "cores": 2, "ram": 4})


def server(ident: str, **metadata: str) -> Server:
    return Server(id=ident, name=ident, status="ACTIVE", metadata=metadata, resources=ONE)


def ours(ident: str, node: str, site: str = "tree") -> Server:
    return server(ident, **{META_PROVIDER: "east", META_NODE_ID: node, META_SITE: site})


def listing(*servers: Server) -> dict[str, Server]:
    return {item.id: item for item in servers}


def usage() -> Usage:
    return Usage("east", "tree", list)


def limits(instances: int, used: int) -> CloudLimits:
    return CloudLimits(Limits({"instances": instances}), Resources({"instances": used}))


def test_others_have_what_no_node_of_ours_explains():
    found = usage()
    servers = listing(ours("a", "1"), ours("leaked", "2"), ours("elder", "3", site=""), server("foreign"))
    found.follow(servers, ONE, {"1"}, {"elder"})
    assert found.others == ONE + ONE
    assert found.in_cloud == ONE
    found.follow(servers, ONE, {"1", "2"}, set())
    assert found.others == ONE + ONE


def test_what_the_services_count_and_nobody_can_see_is_used_by_others():
    found = usage()
    found.follow({}, ONE, set())
    found.read(Capacity(limits(20, 9), Listing(listing(server("foreign")))), 100.0)
    found.follow(listing(server("foreign")), ONE, set())
    assert found.others["instances"] == 8


def test_the_most_of_two_readings_at_a_distance_is_believed():
    found = usage()
    for at, instances in ((100.0, 20), (100.0 + SECOND_READING / 2, 2)):
        found.read(Capacity(limits(instances, 0), Listing({})), at)
        assert found.largest is None
    found.read(Capacity(limits(5, 0), Listing({})), 100.0 + SECOND_READING)
    assert found.largest == Limits({"instances": 20})
    assert found.bounds == Limits({"instances": 5})


def test_near_a_limit_is_what_has_room_for_few_more():
    found = usage()
    found.expect(Resources({"instances": 1}))
    found.read(Capacity(limits(20, 0), Listing({})), 100.0)
    found.follow({}, Resources({"instances": 17}), set())
    assert not found.near_limit
    found.accepted(Resources({"instances": 1}))
    found.follow({}, found.in_cloud, set())
    assert found.near_limit
