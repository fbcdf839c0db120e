# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a first nodepool.yaml says what was planned, whatever the names in the cloud are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import ConfigFiles
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.first_choices import (
    FirstFlavor,
    FirstImage,
    FirstNetwork,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.first_config import (
    FirstPlan,
    first_config,
    scalar,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image, Network, SecurityGroup

PLAN = FirstPlan(
    cloud="mycloud",
    region="",
    image=FirstImage(Image("i", "Debian 12", "active"), "debian", "debian", "the usual user", unique=True),
    flavor=FirstFlavor(Flavor("f", "m1.small", 1, 2048, 20)),
    network=FirstNetwork(Network("n", "private"), "floating", "public"),
    group=SecurityGroup("", "default"),
    keypair="stackci-quickstart-1",
    max_servers=3,
    servers=(("127.0.0.1", 2181),),
    servers_from="a private one",
)


def provider_of(plan: FirstPlan) -> dict[str, Any]:
    return dict(yaml.safe_load(first_config(plan))["providers"][0])


def test_the_collection_reads_what_was_planned_without_a_remark() -> None:
    config = ConfigFiles("nodepool.yaml", first_config(PLAN)).parse(strict=True, part=False)
    assert list(config.warnings) == []
    provider = config.providers["mycloud"]
    pool = provider.pools["main"]
    label = pool.labels["debian-12"]
    settings = config.image_settings(provider, label)
    assert (settings.image_name, settings.username, settings.config_drive) == ("Debian 12", "debian", True)
    assert (pool.networks, pool.auto_floating_ip, pool.max_servers) == (("private",), True, 3)
    assert (label.flavor_name, label.key_name, label.boot_from_volume) == ("m1.small", "stackci-quickstart-1", False)
    assert first_config(PLAN) == first_config(PLAN)


def test_what_is_unusual_is_written_too() -> None:
    image = replace(PLAN.image, unique=False)
    network = FirstNetwork(Network("n", "twice"), "direct", unique=False)
    plan = replace(
        PLAN,
        region="R 1",
        image=image,
        network=network,
        group=SecurityGroup("g", "ssh"),
        flavor=FirstFlavor(Flavor("f", "vol", 2, 1024), 12),
        ssh_port=2222,
        chroot="/a",
    )
    provider = provider_of(plan)
    pool, cloud_image = provider["pools"][0], provider["cloud-images"][0]
    assert cloud_image["image-id"] == "i" and "image-name" not in cloud_image and cloud_image["connection-port"] == 2222
    assert pool["networks"] == ["n"] and pool["auto-floating-ip"] is False and pool["security-groups"] == ["ssh"]
    assert (pool["labels"][0]["boot-from-volume"], pool["labels"][0]["volume-size"]) == (True, 12)
    assert provider["region-name"] == "R 1"
    assert yaml.safe_load(first_config(plan))["zookeeper-servers"][0]["chroot"] == "/a"
    assert "networks" not in provider_of(replace(PLAN, network=None))["pools"][0]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\u2028\u2029")))
def test_any_name_of_a_cloud_stays_what_it_is(name: str) -> None:
    image = FirstImage(Image("i", name, "active"), "debian", "debian", name, unique=True)
    network = FirstNetwork(Network("n", name), "floating", name)
    provider = provider_of(replace(PLAN, image=image, network=network))
    assert provider["cloud-images"][0].get("image-name", name) == name
    assert provider["pools"][0]["networks"] == [name or "n"]
    assert provider["pools"][0]["labels"][0]["name"] == provider["cloud-images"][0]["name"]


@given(st.text(st.sampled_from("ab:#'\"-{}[]&*!|>%@`0 1.e+yesnotrueoff~\n\t,?\\")))
def test_a_scalar_is_the_text(text: str) -> None:
    assert yaml.safe_load(f"key: {scalar(text)}")["key"] == text
