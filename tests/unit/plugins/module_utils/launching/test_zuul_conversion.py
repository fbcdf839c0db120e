# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``make test-interop ARGS="--only zuul-config"`` reads such objects with Zuul's own parsers."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.zuul_conversion import CloudSeen, converted
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.config_texts import parse

LABEL_KEYS = {
    "name", "image", "flavor", "key-name", "networks", "host-key-checking", "boot-timeout", "boot-from-volume",
    "volume-size", "userdata", "tags",
}  # fmt: skip
DEFAULT_KEYS = {
    "boot-timeout", "auto-floating-ip", "host-key-checking", "networks", "security-groups", "az", "executor-zone",
}  # fmt: skip
SECTION_KEYS = {
    "name", "connection", "region", "launch-timeout", "launch-attempts", "port-cleanup-interval", "floating-ip-cleanup",
    "label-defaults", "images", "flavors",
}  # fmt: skip
IMAGE_ID = "0b7e13cc-9f0f-4f6d-8d5b-4ce1ab2c7d11"
OTHER_ID = "6a1f9d0e-3c55-4f0a-8a43-0f6a3e1b7c22"


def document(**provider):
    pool = {"name": "main", "labels": [{"name": "small", "diskimage": "debian", "flavor-name": "m1"}]}
    return {
        "zookeeper-servers": [{"host": "zk"}],
        "labels": [{"name": "small", "min-ready": 2, "max-ready-age": 60}, {"name": "other"}],
        "diskimages": [{"name": "debian", "username": "zuul", "python-path": "auto"}],
        "providers": [
            {"name": "west", "cloud": "cloud", "diskimages": [{"name": "debian"}], "pools": [pool], **provider}
        ],
    }


def pool(*labels, name="main", **more):
    return {"name": name, "labels": list(labels), **more}


def label(name="small", **more):
    return {"name": name, "diskimage": "debian", "flavor-name": "m1", **more}


def objects(found, kind):
    return {item[kind]["name"]: item[kind] for item in found.objects if kind in item}


def convert(clouds=None, **provider):
    return converted(parse(document(**provider)), clouds)


def told(found, *parts):
    return any(all(part in text for part in parts) for text in found.told)


def test_a_site_becomes_images_flavors_labels_sections_and_providers():
    found = convert(**{"region-name": "R1", "launch-timeout": 900, "launch-retries": 2, "boot-timeout": 120})
    assert objects(found, "image") == {"debian": {"name": "debian", "type": "zuul"}}
    assert objects(found, "flavor") == {"m1": {"name": "m1"}}
    assert objects(found, "label") == {
        "small": {"name": "small", "image": "debian", "flavor": "m1", "min-ready": 2, "max-ready-age": 60}
    }
    (section,) = objects(found, "section").values()
    assert section.keys() <= SECTION_KEYS and section["label-defaults"].keys() <= DEFAULT_KEYS
    assert (section["connection"], section["region"]) == ("cloud", "R1")
    assert (section["launch-timeout"], section["launch-attempts"]) == (900, 2)
    assert section["label-defaults"]["boot-timeout"] == 120
    assert section["flavors"] == [{"name": "m1", "flavor-name": "m1"}]
    assert objects(found, "provider") == {
        "west": {"name": "west", "section": "west", "labels": [{"name": "small", "image": "debian", "flavor": "m1"}]}
    }
    assert found.connections == {"cloud": {"driver": "openstack", "cloud": "cloud"}}
    assert told(found, "label other is left out")


def test_each_pool_becomes_a_section_and_a_provider_with_its_limits():
    found = convert(
        pools=[
            pool(label(), name="a", **{"max-servers": 5, "max-ram": 4096, "availability-zones": ["az1"]}),
            pool(label(), name="b", **{"max-servers": 0, "availability-zones": ["az1", "az2"], "networks": ["n"]}),
        ]
    )
    providers, sections = objects(found, "provider"), objects(found, "section")
    assert providers.keys() == sections.keys() == {"west-a", "west-b"}
    assert providers["west-a"]["resource-limits"] == {"instances": 5, "ram": 4096}
    assert providers["west-b"]["resource-limits"] == {"instances": 0}
    assert sections["west-a"]["label-defaults"]["az"] == "az1"
    assert "az" not in sections["west-b"]["label-defaults"] and sections["west-b"]["label-defaults"]["networks"] == [
        "n"
    ]
    assert told(found, "west/b is disabled") and told(found, "west/b", "az1, az2")


def test_what_a_label_says_itself_is_in_the_provider():
    props = {
        "key-name": "key",
        "boot-from-volume": True,
        "volume-size": 80,
        "userdata": "#cloud-config",
        "host-key-checking": False,
        "networks": ["own"],
        "instance-properties": {"a": "{x}"},
        "dynamic-instance-properties": {"r": "req-{request.id}", "bad": "{request.requestor_data}"},
        "console-log": True,
    }
    found = convert(pools=[pool(label(**props), networks=["shared"])])
    (made,) = objects(found, "provider")["west"]["labels"]
    assert made.keys() <= LABEL_KEYS
    assert made["tags"] == {"a": "{{x}}", "r": "req-{request_id}"}
    assert (made["volume-size"], made["networks"], made["host-key-checking"]) == (80, ["own"], False)
    assert told(found, "property bad", "left out") and told(found, "console-log")


@pytest.mark.parametrize(("min_ready", "is_told"), [(1, True), (0, False)])
def test_it_is_told_that_spares_have_no_values_of_a_request(min_ready, is_told):
    labels = [label(**{"dynamic-instance-properties": {"r": "{request.id}", "fixed": "x"}})]
    changed = {**document(pools=[pool(*labels)]), "labels": [{"name": "small", "min-ready": min_ready}]}
    found = converted(parse(changed))
    assert told(found, "west/main: label small: property r", "min-ready") is is_told
    assert not told(found, "property fixed")


def test_a_section_has_every_diskimage_of_the_provider_or_zuul_would_delete_its_uploads():
    diskimages = [{"name": "debian"}, {"name": "fedora"}, {"name": "arch"}]
    listed = [{"name": "debian"}, {"name": "fedora", "config-drive": False}]
    config = document(diskimages=listed, pools=[pool(label(), name="a"), pool(label(), name="b")])
    found = converted(parse({**config, "diskimages": diskimages}))
    assert objects(found, "image").keys() == {"debian", "fedora"}
    for section in objects(found, "section").values():
        assert [image["name"] for image in section["images"]] == ["debian", "fedora"], section
        assert section["images"][1]["config-drive"] is False
    assert told(found, "diskimages that no provider lists are left out: arch")


def test_the_size_of_a_volume_counts_only_with_a_volume():
    (made,) = objects(convert(pools=[pool(label(**{"volume-size": 80}))]), "provider")["west"]["labels"]
    assert "volume-size" not in made


def test_two_pools_with_another_image_or_flavor_for_a_label_keep_theirs():
    found = convert(
        pools=[
            pool(label(), name="a"),
            pool(label(), name="b"),
            pool(label(**{"flavor-name": "big"}), name="c"),
        ]
    )
    assert objects(found, "label")["small"]["flavor"] == "m1"
    assert objects(found, "provider")["west-c"]["labels"][0]["flavor"] == "big"
    assert objects(found, "flavor").keys() == {"m1", "big"}


SMALL = {"name": "small", "diskimage": "debian", "min-ram": 4000}


@pytest.mark.parametrize("flavors", [None, [], [Flavor("1", "tiny", 1, 1000)]])
def test_a_label_whose_flavor_is_not_known_is_left_out_and_told(flavors):
    found = convert({"west": CloudSeen(flavors)} if flavors is not None else None, pools=[pool(SMALL)])
    assert objects(found, "provider")["west"]["labels"] == [] and objects(found, "label") == {}
    assert told(found, "west/main: label small is left out", "min-ram" if flavors is None else "4000 MiB")
    assert told(found, "label small is left out")


def test_the_cloud_tells_the_flavor_and_the_id_of_an_image():
    flavors = [Flavor("1", "m1.large", 4, 8192), Flavor("2", "m1.medium", 2, 4096)]
    found = convert(
        {"west": CloudSeen(flavors, {"jammy": IMAGE_ID})},
        **{"cloud-images": [{"name": "jammy", "username": "ubuntu"}]},
        pools=[pool({"name": "small", "cloud-image": "jammy", "min-ram": 4000})],
    )
    (section,) = objects(found, "section").values()
    assert section["flavors"] == [{"name": "m1.medium", "flavor-name": "m1.medium"}]
    image = section["images"][-1]
    assert (image["type"], image["image-id"], image["username"]) == ("cloud", IMAGE_ID, "ubuntu")


def test_an_image_that_is_only_known_by_name_needs_the_cloud():
    images = [{"name": "jammy"}, {"name": "noble", "image-id": IMAGE_ID}]
    labels = [
        {"name": "small", "cloud-image": "jammy", "flavor-name": "m1"},
        {"name": "other", "cloud-image": "noble", "flavor-name": "m1"},
    ]
    found = convert(**{"cloud-images": images}, pools=[pool(*labels)])
    assert objects(found, "label").keys() == {"other"}
    assert told(found, "Zuul needs the id of cloud-image jammy")


def test_the_diskimage_keeps_its_name_if_a_cloud_image_has_the_same_one():
    names = [{"name": "debian", "image-id": IMAGE_ID}]
    found = convert(
        **{"cloud-images": names},
        pools=[pool({"name": "other", "cloud-image": "debian", "flavor-name": "m1"}, label())],
    )
    assert objects(found, "label")["small"]["image"] == "debian"
    assert {name: one["type"] for name, one in objects(found, "image").items()} == {
        "debian": "zuul",
        "debian-cloud": "cloud",
    }
    assert told(found, "named debian-cloud")


def test_a_name_that_is_made_for_a_cloud_image_is_no_other_images():
    names = [{"name": "debian", "image-id": IMAGE_ID}, {"name": "debian-cloud", "image-id": OTHER_ID}]
    labels = [
        {"name": "small", "cloud-image": "debian", "flavor-name": "m1"},
        {"name": "other", "cloud-image": "debian-cloud", "flavor-name": "m1"},
    ]
    found = convert(**{"cloud-images": names}, pools=[pool(*labels)])
    assert objects(found, "image").keys() == {"debian", "debian-cloud", "debian-cloud-cloud"}
    ids = {one["name"]: one.get("image-id") for one in objects(found, "section")["west"]["images"]}
    assert ids == {"debian": None, "debian-cloud": OTHER_ID, "debian-cloud-cloud": IMAGE_ID}
    made = {one["name"]: one["image"] for one in objects(found, "provider")["west"]["labels"]}
    assert made == {"small": "debian-cloud-cloud", "other": "debian-cloud"}


def test_pools_that_would_be_one_provider_of_zuul_are_refused():
    site = document(pools=[pool(label(), name="a"), pool(label(), name="b")])
    site["providers"].append({**site["providers"][0], "name": "west-a", "pools": [pool(label())]})
    with pytest.raises(ConfigError, match="pool a of provider west and pool main of provider west-a would both be"):
        converted(parse(site))


def test_everything_without_a_counterpart_is_told():
    config = parse(
        document(
            **{
                "priority": 5,
                "max-concurrency": 3,
                "image-name-format": "{image_name}",
                "post-upload-hook": "/bin/true",
                "clean-floating-ips": True,
                "port-cleanup-interval": 0,
                "rate": 0.5,
                "diskimages": [{"name": "debian", "pause": True, "meta": {"tags": ["t"], "hw": "x"}}],
            },
            pools=[
                pool(
                    label(),
                    **{
                        "ignore-provider-quota": True,
                        "node-attributes": {"executor-zone": "z", "k": "v"},
                        "priority": 7,
                    },
                )
            ],
        )
        | {"tenant-resource-limits": [{"tenant-name": "t", "max-servers": 3}], "max-hold-age": 60}
    )
    found = converted(config)
    for part in (
        "west: priority",
        "west/main: priority",
        "max-concurrency",
        "image-name-format",
        "post-upload-hook",
        "floating-ip-cleanup",
        "pause of diskimage debian",
        "glance's tags of debian",
        "ignore-provider-quota",
        "node-attributes other than executor-zone have no counterpart: k",
        "tenant-resource-limits",
        "max-hold-age",
        "config-drive is not set",
    ):
        assert told(found, part), part
    assert not told(found, "port-cleanup-interval")
    assert found.connections["cloud"]["rate"] == "2"
    (section,) = objects(found, "section").values()
    assert section["label-defaults"]["executor-zone"] == "z"
    assert section["images"][0]["tags"] == {"hw": "x"}
