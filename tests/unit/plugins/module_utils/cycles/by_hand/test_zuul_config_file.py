# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.zuul_config_file import (
    file_text,
    look_at_clouds,
    write_zuul_config,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import ConfigOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.zuul_conversion import Converted
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, CloudError

POOL = {"name": "main", "labels": [{"name": "small", "cloud-image": "jammy", "min-ram": 1000}]}


def provider(name, **more):
    return {"name": name, "cloud": name, "cloud-images": [{"name": "jammy"}], "pools": [POOL], **more}


DOCUMENT = {
    "zookeeper-servers": [{"host": "zk"}],
    "labels": [{"name": "small"}],
    "providers": [provider("west"), provider("mute"), provider("shut"), provider("bare", pools=[])],
}


class Client:
    """A cloud that answers, or not."""

    def __init__(self, name):
        self.provider = name
        self.closed = False

    def list_flavors(self):
        if self.provider == "mute":
            raise CloudError("provider mute: no answer", provider="mute")
        return [Flavor("1", "m1", 1, 1024)]

    def images_named(self, name):
        return [Image("i-1", name, "active")] if self.provider == "west" else []

    def close(self):
        self.closed = True


class Options(ConfigOptions):
    """Options whose clients are those of the test."""

    def client(self, provider):
        if provider.name == "shut":
            raise CloudAuthError("provider shut: no entry", provider="shut")
        return Client(provider.name)


@pytest.fixture
def options(tmp_path):
    (tmp_path / "nodepool.yaml").write_text(json.dumps(DOCUMENT))
    return Options(config=str(tmp_path / "nodepool.yaml"))


def test_what_is_asked_is_used_and_who_does_not_answer_is_told(options, tmp_path):
    path = tmp_path / "zuul.yaml"
    done = write_zuul_config(options, str(path), offline=False, check=False)
    assert done["changed"] and done["told"][:2] == ["provider mute: no answer", "provider shut: no entry"]
    (section,) = [one["section"] for one in done["objects"] if one.get("section", {}).get("name") == "west"]
    assert section["images"][0]["image-id"] == "i-1" and section["flavors"][0]["name"] == "m1"
    assert yaml.safe_load(path.read_text()) == done["objects"]
    assert not write_zuul_config(options, str(path), offline=False, check=False)["changed"]


def test_a_provider_without_cloud_images_by_name_and_min_ram_is_not_asked(options):
    seen, problems = look_at_clouds(options, options.load())
    assert "bare" in seen, "it has an image that it knows by name"
    assert [text.split(":")[0] for text in problems] == ["provider mute", "provider shut"]


def test_check_mode_and_no_path_write_nothing(options, tmp_path):
    path = tmp_path / "zuul.yaml"
    assert write_zuul_config(options, str(path), offline=True, check=True)["changed"] and not path.exists()
    done = write_zuul_config(options, None, offline=True, check=False)
    assert not done["changed"] and any("let the module ask the clouds" in text for text in done["told"])


def test_a_file_that_cannot_be_read_is_replaced(options, tmp_path):
    path = tmp_path / "zuul.yaml"
    path.write_bytes(b"\xff\xfe")
    assert write_zuul_config(options, str(path), offline=True, check=False)["changed"]


def test_the_top_of_the_file_is_all_comments():
    found = Converted([{"flavor": {"name": "m1"}}], {"a": {"driver": "openstack"}}, ["one\ntwo: - x"])
    text = file_text(found, "/etc/nodepool/nodepool.yaml")
    assert yaml.safe_load(text) == found.objects
    assert "# - one\n# two: - x\n" in text and '#   [connection "a"]\n#   driver=openstack\n' in text
