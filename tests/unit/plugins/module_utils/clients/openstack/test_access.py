# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls with which somebody gets access to nodes, for both versions of IP."""

from __future__ import annotations

from typing import Any

import pytest

GROUPS, RULES, SUBNETS = (f"/v2.0/{name}" for name in ("security-groups", "security-group-rules", "subnets"))


def rule(ethertype: str) -> dict[str, Any]:
    return {
        "direction": "ingress",
        "ethertype": ethertype,
        "protocol": "tcp",
        "port_range_min": 22,
        "port_range_max": 22,
    }


def test_the_versions_of_ip_that_a_network_has(cloud, make_client) -> None:
    rows = [("s1", "both", 4), ("s2", "both", 6), ("s3", "six", 6), ("s4", "four", 4)]
    documents = [{"id": ident, "network_id": network, "ip_version": version} for ident, network, version in rows]
    cloud.on("GET", SUBNETS, (200, {"subnets": [*documents, {"id": "s5", "network_id": "silent"}]}))
    assert make_client().access.list_ip_versions() == {"both": {4, 6}, "six": {6}, "four": {4}, "silent": {4}}
    assert cloud.calls().count(f"GET {SUBNETS}") == 1


@pytest.mark.parametrize(("version", "open_group"), [(4, "four"), (6, "six")])
def test_a_group_lets_ssh_in_over_one_version_of_ip(cloud, make_client, version: int, open_group: str) -> None:
    documents = [
        {"id": name, "name": name, "security_group_rules": [rule(ethertype)]}
        for name, ethertype in (("four", "IPv4"), ("six", "IPv6"))
    ]
    cloud.on("GET", GROUPS, (200, {"security_groups": documents}))
    found = make_client().access.list_groups(version)
    assert [group.name for group in found if group.admits_ssh] == [open_group]


@pytest.mark.parametrize(("version", "ping"), [(4, "icmp"), (6, "ipv6-icmp")])
def test_the_group_that_is_made_has_rules_of_that_version(cloud, make_client, version: int, ping: str) -> None:
    cloud.on("POST", GROUPS, (201, {"security_group": {"id": "g1", "name": "n"}}))
    cloud.on("POST", RULES, (201, {"security_group_rule": {"id": "r"}}))
    assert make_client().access.create_ssh_group("n", "d", version) == "g1"
    sent = [seen.body["security_group_rule"] for seen in cloud.seen if seen.path == RULES]
    assert [(one["ethertype"], one["protocol"]) for one in sent] == [(f"IPv{version}", "tcp"), (f"IPv{version}", ping)]
