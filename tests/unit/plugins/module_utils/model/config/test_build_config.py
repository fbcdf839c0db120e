# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that are built: defaults, renamed and joined keys, what a pool hands to its labels."""

from __future__ import annotations

import dataclasses
import math

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import keys_of, options_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import shown_default
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.config_texts import changed, parse, valid_document

BARE = """
zookeeper-servers: [{host: zk01}]
labels: [{name: small}]
diskimages: [{name: debian}]
providers:
  - name: east
    cloud: east
    diskimages: [{name: debian}]
    cloud-images: [{name: rocky}]
    pools:
      - name: main
        labels: [{name: small, diskimage: debian, min-ram: 0}]
"""


def objects(config):
    """One object of each kind of section."""
    provider = config.providers["east"]
    pool = provider.pools["main"]
    return [
        config,
        config.zookeeper,
        config.zookeeper.servers[0],
        config.webapp,
        config.labels["small"],
        config.diskimages["debian"],
        provider,
        provider.diskimages["debian"],
        provider.cloud_images["rocky"],
        pool,
        pool.labels["small"],
    ]


@pytest.mark.parametrize("index", range(11))
def test_the_default_that_the_schema_shows_is_the_one_that_is_used(index):
    built = objects(parse(BARE))[index]
    shown = {name: shown_default(option) for name, option in options_of(type(built)).items() if option.part is None}
    assert {name: getattr(built, name) for name, value in shown.items() if value is not None} == {
        name: value for name, value in shown.items() if value is not None
    }


def test_each_attribute_of_a_section_is_an_option():
    for built in objects(parse(BARE)):
        fields = {item.name for item in dataclasses.fields(built)} - {"path", "warnings"}
        assert set(options_of(type(built))) == fields
        keys = [option.key for option in keys_of(type(built))]
        assert len(set(keys)) == len(keys)


def test_defaults_without_a_key_of_the_same_name():
    config = parse(BARE)
    assert config.providers["east"].max_concurrency == math.inf
    assert config.zookeeper.timeout == 10.0
    assert config.zookeeper.tls is None
    assert (config.webapp.port, config.webapp.listen_address) == (8005, "127.0.0.1")
    assert config.providers["east"].pools["main"].max_servers == math.inf


@pytest.mark.parametrize(("written", "meant"), [(-1, math.inf), (0, math.inf), (1, 1), (7, 7)])
def test_max_concurrency_of_zero_means_no_limit(written, meant):
    config = parse(changed(("providers", 0, "max-concurrency"), written))
    assert config.providers["east"].max_concurrency == meant


@pytest.mark.parametrize(("written", "meant"), [(0, 0.0), (1, 1.0), (0.001, 0.001), (None, 0.0)])
def test_rate(written, meant):
    rate = parse(changed(("providers", 0, "rate"), written)).providers["east"].rate
    assert (rate, type(rate)) == (meant, float)


def test_no_attempt_at_all_is_one_attempt():
    assert parse(changed(("providers", 0, "launch-retries"), 0)).providers["east"].launch_retries == 1


def test_min_ready_below_zero_is_none():
    assert parse(changed(("labels", 0, "min-ready"), -1)).labels["small"].min_ready == 0


def test_a_whole_number_with_a_point_is_a_whole_number():
    ram = parse(changed(("providers", 0, "pools", 0, "labels", 0, "min-ram"), 8192.0))
    value = ram.providers["east"].pools["main"].labels["small"].min_ram
    assert (value, type(value)) == (8192, int)


@pytest.mark.parametrize(("provider", "pool", "meant"), [(None, None, 100), (5, None, 5), (5, 7, 7), (None, 7, 7)])
def test_priority_of_a_pool_falls_back_to_the_providers(provider, pool, meant):
    document = changed(("providers", 0, "priority"), provider)
    config = parse(changed(("providers", 0, "pools", 0, "priority"), pool, document))
    assert config.providers["east"].pools["main"].priority == meant


def test_limits_of_a_pool():
    limits = {"max-servers": 1, "max-cores": 2, "max-ram": 3, "max-volumes": 4, "max-volume-gb": 5}
    document = valid_document()
    document["providers"][0]["pools"][0].update(limits)
    assert parse(document).providers["east"].pools["main"].limits == Limits(
        {"instances": 1, "cores": 2, "ram": 3, "volumes": 4, "volume-gb": 5}
    )


def test_limits_of_a_tenant_and_of_resources_with_other_names():
    limits = parse(valid_document()).tenant_limits["t"]
    assert limits == Limits({"instances": 3, "gpus": 1})
    assert limits["cores"] == math.inf


def test_a_label_takes_networks_and_host_key_checking_from_its_pool_unless_it_says_otherwise():
    document = changed(("providers", 0, "pools", 0, "host-key-checking"), False)
    document["providers"][0]["pools"][0]["labels"][1].update({"networks": [], "host-key-checking": True})
    labels = parse(document).providers["east"].pools["main"].labels
    assert (labels["small"].networks, labels["small"].host_key_checking) == (("net",), False)
    assert (labels["large"].networks, labels["large"].host_key_checking) == ((), True)


@pytest.mark.parametrize(
    ("connection", "meant"),
    [
        ({}, ("ssh", 22)),
        ({"connection-type": "winrm"}, ("winrm", 5986)),
        ({"connection-type": "winrm", "connection-port": 1}, ("winrm", 1)),
        ({"connection-port": 2222}, ("ssh", 2222)),
    ],
)
def test_connection(connection, meant):
    document = valid_document()
    for kind in ("diskimages", "cloud-images"):
        document["providers"][0][kind][0].update(connection)
    provider = parse(document).providers["east"]
    for image in (provider.diskimages["debian"], provider.cloud_images["rocky"]):
        assert (image.connection_type, image.connection_port) == meant


@pytest.mark.parametrize(("written", "meant"), [(4, "4"), (1.5, "1.5"), (True, "True"), ("x", "x")])
def test_properties_become_text(written, meant):
    document = valid_document()
    label = document["providers"][0]["pools"][0]["labels"][0]
    label["instance-properties"] = label["dynamic-instance-properties"] = {"k": written}
    document["diskimages"][1]["metadata"] = document["providers"][0]["diskimages"][0]["meta"] = {"k": written}
    config = parse(document)
    built = config.providers["east"].pools["main"].labels["small"]
    meta = config.providers["east"].diskimages["debian"].meta
    for values in (built.instance_properties, built.dynamic_instance_properties, meta):
        assert values == {"k": meant}
    assert config.diskimages["debian"].metadata == {"k": meant}


@pytest.mark.parametrize("chroot", ["/ci/../nodepool", "./ci", "/ci\x01", "/ci\x9f/a"])
def test_a_chroot_that_no_znode_can_have_is_refused(chroot):
    problem = r"zookeeper-servers\[zk01\]\.chroot: cannot be a path in ZooKeeper: leave out the names \. and \.\."
    with pytest.raises(ConfigError, match=problem):
        parse(changed(("zookeeper-servers",), [{"host": "zk01", "chroot": chroot}]))


@pytest.mark.parametrize(
    ("written", "meant"), [("/a/", "/a"), ("a/b", "/a/b"), ("//a//b/", "/a/b"), ("/", ""), ("", ""), (None, "")]
)
def test_chroot_begins_with_one_slash_and_holds_for_all_servers(written, meant):
    servers = [{"host": "zk01"}, {"host": "zk02", "chroot": written}]
    config = parse(changed(("zookeeper-servers",), servers))
    assert [server.chroot for server in config.zookeeper.servers] == [meant, meant]


@pytest.mark.parametrize("written", ["2001:db8::1", "[2001:db8::1]"])
def test_an_ipv6_address_is_kept_without_brackets(written):
    config = parse(changed(("zookeeper-servers",), [{"host": written}]))
    assert config.zookeeper.servers[0].host == "2001:db8::1"


@pytest.mark.parametrize(
    "key", ["labels", "diskimages", "providers", "tenant-resource-limits", "webapp", "zookeeper-tls", "max-hold-age"]
)
def test_a_key_without_a_value_is_absent(key):
    document = {"zookeeper-servers": [{"host": "zk01"}]}
    assert parse({**document, key: None}) == parse(document)


def test_objects_compare_by_content():
    assert parse(valid_document()) == parse(valid_document())
    other = parse(changed(("providers", 0, "pools", 0, "max-servers"), 6))
    assert other.providers["east"] != parse(valid_document()).providers["east"]
    assert other.labels == parse(valid_document()).labels


def test_the_image_of_a_label():
    config = parse(valid_document())
    provider = config.providers["east"]
    labels = provider.pools["main"].labels
    own = config.image_settings(provider, labels["small"])
    foreign = config.image_settings(provider, labels["large"])
    assert (own.kind, own.name, own.image_id, own.image_name, own.username) == (
        "diskimage",
        "debian",
        None,
        None,
        "zuul",
    )
    assert (foreign.kind, foreign.image_id, foreign.username) == ("cloud-image", "0-1", None)
