# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin through ansible-inventory, against two simulated clouds and a real ZooKeeper."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from tests.support.ansible_run import ROOT, command
from tests.support.pace import allowed
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

EVIL = "{{ lookup('ansible.builtin.pipe', 'touch evil') }}"


class Site:
    """Two clouds with nodes, and a folder to write inventories in."""

    def __init__(self, folder: Path, clouds: SimCloud, zookeeper: ZooKeeperServer) -> None:
        self.folder = folder
        self.clouds = clouds
        self.zookeeper = zookeeper
        self.servers: dict[str, str] = {}
        config = (
            f"zookeeper-servers: [{{host: 127.0.0.1, port: {zookeeper.port}}}]\nlabels: [{{name: small}}]\nproviders:\n"
        )
        for cloud in ("east", "west"):
            config += (
                f"  - name: {cloud}\n    cloud: {cloud}\n    cloud-images: [{{name: debian-12}}]\n    pools:\n"
                "      - name: main\n        labels: [{name: small, cloud-image: debian-12, flavor-name: small}]\n"
            )
        (folder / "nodepool.yaml").write_text(config)

    def fill(self) -> None:
        """Nodes 1 to 3 in the east, node 4 in the west, one server of somebody else."""
        for number, cloud in ((1, "east"), (2, "east"), (3, "east"), (4, "west")):
            label = EVIL if number == 3 else "small"
            self.servers[f"{number:010d}"] = self.create(cloud, number, label)
        self.clouds.outsiders("east", 1)
        limit = time.monotonic() + 20
        while any(server["status"] != "ACTIVE" for cloud in ("east", "west") for server in self.clouds.servers(cloud)):
            assert time.monotonic() < limit
            time.sleep(0.05)

    def create(self, cloud: str, number: int, label: str) -> str:
        client = CloudClient(Provider(cloud, cloud, rate=0.0), clouds_config=str(self.clouds.clouds_yaml))
        image = client.find_image("debian-12")
        assert image is not None
        flavor = next(flavor for flavor in client.list_flavors() if flavor.name == "small")
        network = next(network for network in client.list_networks() if network.name == "private")
        metadata = {
            "nodepool_node_id": f"{number:010d}",
            "nodepool_provider_name": cloud,
            "nodepool_pool_name": "main",
            "nodepool_image_name": "debian-12",
            "nodepool_node_label": label,
        }
        spec = ServerSpec(f"np{number:010d}", image.id, flavor.id, metadata, network_ids=(network.id,))
        return client.create_server(spec)

    def put_record(self, number: int, **values: Any) -> None:
        node = f"{number:010d}"
        record = {
            "state": "hold",
            "state_time": time.time(),
            "type": ["small"],
            "provider": "east",
            "external_id": self.servers.get(node),
            "interface_ip": "127.0.0.77",
            "connection_port": 2222,
            "connection_type": "ssh",
            "username": "zuul",
            "host_keys": ["ssh-ed25519 AAAA"],
            "allocated_to": "100-0000000001",
            **values,
        }
        client = KazooClient(self.zookeeper.hosts)
        client.start(10)
        try:
            client.ensure_path(f"/nodepool/nodes/{node}")
            client.set(f"/nodepool/nodes/{node}", json.dumps(record).encode())
        finally:
            client.stop()
            client.close()

    def write(self, name: str = "test.nodepool.yml", **options: Any) -> Path:
        if "clouds" not in options:
            options.setdefault("nodepool_config", "nodepool.yaml")
        document = {
            "plugin": "stackci.nodepool.nodepool",
            "clouds_config": str(self.clouds.clouds_yaml),
            **options,
        }
        path = self.folder / name
        path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))
        return path

    def listed(self, *, fails: bool = False, **options: Any) -> tuple[dict[str, Any], str]:
        """What ansible-inventory --list says, and its warnings; with *fails* its errors."""
        path = self.write(**options)
        done = command(
            *("ansible-inventory", "-i", path, "--list"),
            folder=self.folder,
            ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="true",
        )
        said = " ".join(done.stderr.split())
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return ({} if fails else json.loads(done.stdout, object_hook=_plain)), said

    def variables(self, **options: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.listed(**options)[0]["_meta"]["hostvars"]
        return found


def _plain(value: dict[str, Any]) -> Any:
    """--list marks each text that is no template."""
    return value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else value


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    clouds: dict[str, Any] = {}
    for name in ("east", "west"):
        clouds |= default_cloud(name, boot={"kind": "fixed", "value": 0.1})
    with ZooKeeperServer() as zookeeper, SimCloud(clouds) as running:
        made = Site(tmp_path_factory.mktemp("inventory"), running, zookeeper)
        made.fill()
        yield made


@pytest.fixture(autouse=True)
def _no_faults(site: Site) -> Iterator[None]:
    yield
    site.clouds.clear_faults()
    for cloud in ("east", "west"):
        site.clouds.settings(cloud, page_limit=1000)


def test_hosts_and_groups_of_two_clouds_by_one_paged_listing_each(site: Site) -> None:
    site.clouds.settings("east", page_limit=2)
    site.clouds.clear_calls("east")
    found, _said = site.listed()
    names = [f"np{number:010d}" for number in (1, 2, 3, 4)]
    assert sorted(found["_meta"]["hostvars"]) == names
    assert found["provider_east"]["hosts"] == names[:3]
    assert found["provider_west"]["hosts"] == names[3:]
    assert found["label_small"]["hosts"] == [names[0], names[1], names[3]]
    assert found["pool_main"]["hosts"] == names
    assert found["image_debian_12"]["hosts"] == names
    assert found["status_ACTIVE"]["hosts"] == names
    assert found["az_az1"]["hosts"]
    nodepool = found["_meta"]["hostvars"][names[0]]["nodepool"]
    assert nodepool["server_id"] == site.servers["0000000001"]
    assert nodepool["node_id"] == "0000000001"
    assert found["_meta"]["hostvars"][names[0]]["ansible_host"] == nodepool["addresses"][0]["address"]
    kinds = set(site.clouds.counts("east")["by_kind"])
    assert {kind for kind in kinds if "servers" in kind} == {"GET /servers/detail"}
    assert site.clouds.counts("east")["by_kind"]["GET /servers/detail"] >= 2, "the listing is paged"


def test_texts_from_the_net_are_no_templates(site: Site) -> None:
    variables = site.variables(compose={"copied": "nodepool.label"})["np0000000003"]
    assert variables["nodepool"]["label"] == EVIL
    assert variables["copied"] == EVIL
    done = command(
        "ansible",
        *("-i", site.write(), "np0000000003", "-c", "local", "-m", "ansible.builtin.debug", "-a", "var=nodepool.label"),
        folder=site.folder,
    )
    assert done.returncode == 0, done.stderr
    assert "lookup" in done.stdout
    assert not (site.folder / "evil").exists()


def test_constructed(site: Site) -> None:
    found, _said = site.listed(
        labels=["small"],
        compose={"short": "nodepool.node_id[-2:]"},
        groups={"first": "nodepool.node_id == '0000000001'"},
        keyed_groups=[{"key": "nodepool.provider", "prefix": "place"}],
    )
    assert found["_meta"]["hostvars"]["np0000000004"]["short"] == "04"
    assert found["first"]["hosts"] == ["np0000000001"]
    assert found["place_west"]["hosts"] == ["np0000000004"]
    site.listed(compose={"x": "no_such_variable"})
    _found, said = site.listed(fails=True, strict=True, compose={"x": "no_such_variable"})
    assert "Could not set x for host" in said


def test_selection_and_names(site: Site) -> None:
    assert list(site.variables(providers=["west"], hostname="node_id")) == ["0000000004"]
    assert site.variables(statuses=["BUILD"]) == {}
    assert list(site.variables(clouds=["west"], hostname="server_id")) == [site.servers["0000000004"]]


def test_node_records_give_the_connection(site: Site) -> None:
    site.put_record(1)
    site.put_record(2, state="ready", external_id="some other server")
    found, _said = site.listed(zookeeper=True, known_hosts="known_hosts")
    one, two = (found["_meta"]["hostvars"][name] for name in ("np0000000001", "np0000000002"))
    assert (one["ansible_host"], one["ansible_port"], one["ansible_user"]) == ("127.0.0.77", 2222, "zuul")
    assert one["nodepool"]["request"] == "100-0000000001"
    assert found["state_hold"]["hosts"] == ["np0000000001"]
    assert "ansible_user" not in two
    assert (site.folder / "known_hosts").read_text() == "[127.0.0.77]:2222 ssh-ed25519 AAAA\n"
    assert str(site.folder / "known_hosts") in one["ansible_ssh_common_args"]
    assert list(site.variables(zookeeper=True, states=["hold"])) == ["np0000000001"]


@pytest.mark.parametrize("fault", [{"fault": "hang"}, {"fault": "status", "status": 500}])
def test_a_cloud_that_fails(site: Site, fault: dict[str, Any]) -> None:
    cache: dict[str, Any] = {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(site.folder / "cache"),
    }
    whole = site.variables(**cache, cache_timeout=3600)
    site.clouds.fault("east", "GET /servers/detail", **fault)
    site.clouds.clear_calls("west")
    assert site.variables(**cache, cache_timeout=3600) == whole, "a young cache is used without a call"
    assert site.clouds.counts("west")["total"] == 0
    begin = time.monotonic()
    _found, said = site.listed(fails=True, deadline=3)
    assert "east could not be listed" in said
    found, said = site.listed(deadline=3, on_error="skip")
    assert list(found["_meta"]["hostvars"]) == ["np0000000004"]
    assert "east is left out of the inventory" in said
    found, said = site.listed(deadline=3, on_error="stale", **cache, cache_timeout=0)
    assert sorted(found["_meta"]["hostvars"]) == sorted(whole)
    assert "east is shown as it was" in said
    _found, said = site.listed(fails=True, deadline=3, on_error="stale", **{**cache, "cache_connection": "other"})
    assert "nothing of it was cached" in said
    assert time.monotonic() - begin < allowed(40.0)


def test_a_failure_is_told_once_and_ends_the_command_with_the_settings_of_the_examples(site: Site) -> None:
    site.clouds.fault("east", "GET /servers/detail", fault="status", status=500)
    file = site.write()
    done = command(
        *("ansible-inventory", "-i", file, "--list"),
        folder=site.folder,
        ANSIBLE_CONFIG=str(ROOT / "examples" / "ansible.cfg"),
    )
    said = " ".join(done.stderr.split())
    assert done.returncode != 0, done.stdout
    assert said.count("could not be listed") == 1 == said.count("simulated failure"), said
    assert f"{file}: east could not be listed: GET /servers/detail" in said
    assert "caused by" not in said and "YAML" not in said


def test_a_record_of_another_driver_is_left_out_with_a_warning(site: Site) -> None:
    site.put_record(1)
    site.put_record(9, external_id={"pod": "a", "namespace": "b"}, provider="kubernetes")
    found, said = site.listed(zookeeper=True)
    assert found["_meta"]["hostvars"]["np0000000001"]["ansible_user"] == "zuul"
    assert len(found["_meta"]["hostvars"]) == 4
    assert "left out: 0000000009; another driver" in said


BAD: list[tuple[dict[str, Any], str]] = [
    ({"clouds": ["east"], "nodepool_config": "nodepool.yaml"}, "give either nodepool_config or clouds"),
    ({"nodepool_config": None}, "give either nodepool_config or clouds"),
    ({"clouds": ["east"], "zookeeper": True}, "zookeeper needs nodepool_config"),
    ({"states": ["hold"]}, "states needs zookeeper: true"),
    ({"known_hosts": "x"}, "known_hosts needs zookeeper: true"),
    ({"on_error": "stale"}, "on_error: stale needs cache: true"),
    ({"providers": ["north"]}, "has no provider north: it has east, west"),
    ({"nodepool_config": "missing.yaml"}, "missing.yaml"),
    ({"clouds": ["north"]}, "north"),
    ({"hostname": "color"}, "hostname"),
]


def test_bad_options_are_explained(site: Site) -> None:
    # One command for all files: each of them is named with what is wrong with it.
    files = [site.write(name=f"bad{number}.nodepool.yml", **options) for number, (options, _message) in enumerate(BAD)]
    sources = [word for file in files for word in ("-i", str(file))]
    done = command(
        "ansible-inventory", *sources, "--list", folder=site.folder, ANSIBLE_INVENTORY_UNPARSED_FAILED="true"
    )
    assert done.returncode != 0, done.stdout
    told = " ".join(done.stderr.split()).split("as an inventory source")
    assert len(told) == len(BAD) + 1, told
    for file, (_options, message), said in zip(files, BAD, told, strict=False):
        assert str(file) in said
        assert message in said


def test_only_files_named_for_it(site: Site) -> None:
    for name in ("nodepool.yml", "a.nodepool.yaml"):
        site.listed(name=name)
    _found, said = site.listed(fails=True, name="nodepool.yaml.yml")
    assert "nodepool.yaml.yml" in said
