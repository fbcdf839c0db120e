# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The create call and its metadata."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.spec import (
    dynamic_properties,
    group_names,
    server_name,
    server_spec,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ImageSettings,
    Pool,
    PoolLabel,
    Provider,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch

IMAGE = ImageSettings("debian", image_name="Debian 12", username="zuul", config_drive=True)
LAUNCH = Launch(
    "0000000007",
    "east",
    "main",
    "small",
    mark="0000000007-1-abc",
    az="az1",
    flavor_id="f1",
    cloud_image_id="img",
)
REQUEST = {"id": "100-1", "tenant_name": "t", "requestor_data": {"pr": 5}, "labels": ["small"]}


def spec(label: PoolLabel, pool: Pool | None = None):
    return server_spec(
        LAUNCH,
        Provider("east", "cloud"),
        pool or Pool("main"),
        label,
        IMAGE,
        ("n1", "n2"),
        "g1" if label.launches.server_group else None,
        REQUEST,
        "tree",
    )


def test_everything_that_the_label_and_the_pool_say_is_in_the_create():
    label = PoolLabel(
        "small", cloud_image="debian", key_name="k", boot_from_volume=True, volume_size=80, userdata="#cloud-config"
    )
    made = spec(label, Pool("main", security_groups=("sg",)))
    assert (made.name, made.image_id, made.flavor_id, made.az) == ("np0000000007", "img", "f1", "az1")
    assert (made.network_ids, made.security_groups, made.key_name) == (("n1", "n2"), ("sg",), "k")
    assert (made.config_drive, made.userdata, made.boot_from_volume, made.volume_size) == (
        True,
        "#cloud-config",
        True,
        80,
    )


def test_metadata_as_nodepool_writes_it_and_our_mark():
    assert spec(PoolLabel("small", cloud_image="debian")).metadata == {
        "groups": "east,debian,small",
        "nodepool_node_id": "0000000007",
        "nodepool_provider_name": "east",
        "nodepool_pool_name": "main",
        "nodepool_image_name": "debian",
        "nodepool_node_label": "small",
        "stackci_launch": "0000000007-1-abc",
        "stackci_site": "tree",
    }


def test_groups_that_nova_cannot_store_are_left_out():
    assert group_names("e" * 255, "debian", "small") == "e" * 255
    assert group_names("e" * 200, "d" * 54, "small") == f"{'e' * 200},{'d' * 54}"


def test_the_user_may_replace_the_groups_but_nothing_that_nodepool_needs():
    properties = {"groups": "mine", "nodepool_node_id": "1", "stackci_launch": "x", "stackci_site": "x", "a": "b"}
    label = PoolLabel(
        "small",
        cloud_image="debian",
        instance_properties=properties,
        dynamic_instance_properties={"a": "{request.tenant_name}", "nodepool_pool_name": "evil"},
    )
    metadata = spec(label).metadata
    assert (metadata["groups"], metadata["a"]) == ("mine", "t")
    assert metadata["nodepool_node_id"] == "0000000007"
    assert metadata["stackci_launch"] == LAUNCH.mark
    assert metadata["nodepool_pool_name"] == "main"


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{request.id}", "100-1"),
        ("{request.tenant_name}/{request.labels[0]}", "t/small"),
        ("{request.requestor_data[pr]}", "5"),
        ("{{braces}}", "{braces}"),
        ("{request.nothing}", None),
        ("{other}", None),
        ("{request.requestor_data[x]}", None),
        ("{broken", None),
        ("{request.__class__}", None),
        ("{request.id.__class__.__mro__}", None),
        ("{request.labels[a]}", None),
        ("{}", None),
    ],
)
def test_dynamic_properties(template, filled):
    assert dynamic_properties({"p": template}, REQUEST) == ({} if filled is None else {"p": filled})


def test_a_spare_node_has_no_request_to_take_anything_from():
    assert dynamic_properties({"p": "{request.id}", "q": "plain"}, {}) == {"q": "plain"}


def test_names_are_short_enough_for_windows():
    assert server_name("0000000007") == "np0000000007"
    assert len(server_name("0" * 10)) <= 15
