# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin through ansible-inventory, against two simulated clouds and a real ZooKeeper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.inventory.nodepool import MARK
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from tests.support.ansible_run import ROOT, command
from tests.support.inventory_site import EVIL, Site, made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made(tmp_path_factory.mktemp("inventory")) as site:
        yield site


@pytest.fixture(autouse=True)
def _no_faults(site: Site) -> Iterator[None]:
    yield
    site.clouds.clear_faults()
    for cloud in ("east", "west"):
        site.clouds.settings(cloud, page_limit=1000, cells_down=False)


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
        *("-i", site.write(), "np0000000003", "-c", "local", "-m", "ansible.builtin.debug"),
        *("-a", "msg='{{ nodepool.label }} of {{ inventory_file }} in {{ inventory_dir }}'"),
        folder=site.folder,
    )
    assert done.returncode == 0, done.stderr
    assert "lookup" in done.stdout
    assert f" in {site.folder}" in done.stdout and f" of {site.folder}" in done.stdout
    assert not (site.folder / "evil").exists()


def test_awx_reads_addresses_from_a_list(site: Site) -> None:
    # AWX stores what this command prints. It takes a text with Ansible's mark for a dictionary.
    path = site.write(compose={"copied": "nodepool.pool"})
    done = command("ansible-inventory", "-i", path, "--list", "--export", folder=site.folder)
    assert done.returncode == 0, done.stderr
    hosts = json.loads(done.stdout)["_meta"]["hostvars"]
    first = hosts["np0000000001"]
    assert first["ansible_host"] == first["nodepool"]["addresses"][0]["address"]
    assert isinstance(first["ansible_host"], str) and first["copied"] == "main"
    assert hosts["np0000000003"]["nodepool"]["label"] == {"__ansible_unsafe": EVIL}


def test_constructed(site: Site) -> None:
    found, _said = site.listed(
        labels=["small"],
        compose={"short": "nodepool.node_id[-2:]"},
        groups={"first": "nodepool.node_id == '0000000001'"},
        keyed_groups=[{"key": "nodepool.provider", "prefix": "place"}],
        hostnames=["no_such_variable", "nodepool.provider ~ '-' ~ nodepool.node_id[-1]"],
        metadata_groups=True,
    )
    assert found["_meta"]["hostvars"]["west-4"]["short"] == "04"
    assert found["first"]["hosts"] == ["east-1"]
    assert found["place_west"]["hosts"] == ["west-4"]
    assert found["of_metadata"]["hosts"] == ["east-1", "east-2", "west-4"]
    site.listed(compose={"x": "no_such_variable"})
    _found, said = site.listed(fails=True, strict=True, compose={"x": "no_such_variable"})
    assert "Could not set x for host" in said
    _found, said = site.listed(fails=True, strict=True, hostnames=["no_such_variable"])
    assert "none of the expressions in hostnames has a value for server" in said


def test_selection_and_names(site: Site) -> None:
    assert list(site.variables(providers=["west"], hostname="node_id")) == ["0000000004"]
    assert site.variables(statuses=["BUILD"]) == {}
    assert list(site.variables(clouds=["west"], hostname="server_id")) == [site.servers["0000000004"]]


def test_node_records_give_the_connection(site: Site) -> None:
    site.put_record(1)
    site.put_record(2, state="deleting", external_id="some other server")
    found, _said = site.listed(zookeeper=True, known_hosts="known_hosts")
    one, two = (found["_meta"]["hostvars"][name] for name in ("np0000000001", "np0000000002"))
    assert (one["ansible_host"], one["ansible_port"], one["ansible_user"]) == ("127.0.0.77", 2222, "zuul")
    assert one["nodepool"]["request"] == "100-0000000001"
    assert found["state_hold"]["hosts"] == ["np0000000001"]
    assert "ansible_user" not in two
    assert (site.folder / "known_hosts").read_text() == f"{MARK}\n[127.0.0.77]:2222 ssh-ed25519 AAAA\n"
    assert str(site.folder / "known_hosts") in one["ansible_ssh_common_args"]
    assert list(site.variables(zookeeper=True, states=["hold"])) == ["np0000000001"]
    site.put_record(2, hold_job="lease mine")
    found, _said = site.listed(zookeeper=True, leases=["mine"])
    assert found["lease_mine"]["hosts"] == ["np0000000002"] == list(found["_meta"]["hostvars"])


def test_known_hosts_of_a_person_and_devices_are_not_replaced(site: Site) -> None:
    site.put_record(1)
    mine, null = site.folder / "my_known_hosts", site.folder / "null"
    mine.write_text("git.example ssh-ed25519 AAAA\n", encoding="utf-8")
    _none, said = site.listed(fails=True, zookeeper=True, known_hosts=mine.name)
    assert "my_known_hosts: somebody else has written this file" in said
    assert mine.read_text(encoding="utf-8") == "git.example ssh-ed25519 AAAA\n"
    null.symlink_to("/dev/null")
    _none, said = site.listed(fails=True, zookeeper=True, known_hosts=null.name)
    assert "null: is not a regular file: name another one" in said and null.is_symlink()
    mine.write_text("192.0.2.7 ssh-ed25519 AAAA\n", encoding="utf-8")
    assert site.variables(zookeeper=True, known_hosts=mine.name)
    assert mine.read_text(encoding="utf-8").startswith(MARK), "the plugin had written it without a mark"


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
    _found, said = site.listed(fails=True, deadline=3)
    assert "east could not be listed" in said
    if fault["fault"] == "hang":
        assert "no whole answer within 3 s" in said
    found, said = site.listed(deadline=3, on_error="skip")
    assert list(found["_meta"]["hostvars"]) == ["np0000000004"]
    assert "east is missing from the inventory" in said
    found, said = site.listed(deadline=3, on_error="stale", **cache, cache_timeout=0)
    assert sorted(found["_meta"]["hostvars"]) == sorted(whole)
    assert "east is shown as it was" in said
    _found, said = site.listed(fails=True, deadline=3, on_error="stale", **{**cache, "cache_connection": "other"})
    assert "nothing of it was cached" in said


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


def test_a_record_cannot_choose_how_the_controller_connects(site: Site) -> None:
    hostile = {"username": "-oProxyCommand=touch evil", "python_path": "/bin/sh -c 'touch evil'", "comment": EVIL}
    for kind in ("local", "ansible.builtin.local", "community.docker.docker", "network_cli"):
        site.put_record(2, connection_type=kind, **hostile)
        found, said = site.listed(zookeeper=True)
        variables = found["_meta"]["hostvars"]["np0000000002"]
        assert "ansible_connection" not in variables
        assert "ansible_user" not in variables
        assert "ansible_python_interpreter" not in variables
        assert f"what its record says about the connection is not used: connection_type '{kind}'" in said
    assert not (site.folder / "evil").exists()
    site.put_record(2, connection_type="winrm", connection_port=5986)
    variables = site.variables(zookeeper=True)["np0000000002"]
    assert (variables["ansible_connection"], variables["ansible_port"]) == ("winrm", 5986)


def test_a_play_for_a_hostile_record_runs_nothing_on_the_controller(site: Site) -> None:
    site.put_record(2, connection_type="local", interface_ip="127.0.0.77", connection_port=1)
    (site.folder / "play.yml").write_text(
        "- hosts: np0000000002\n  gather_facts: false\n  tasks: [{ansible.builtin.command: touch evil}]\n"
    )
    ran = command("ansible-playbook", "-i", site.write(zookeeper=True), "play.yml", folder=site.folder)
    assert ran.returncode != 0
    assert "UNREACHABLE" in ran.stdout
    assert not (site.folder / "evil").exists()


def test_a_record_of_another_driver_is_left_out_with_a_warning(site: Site) -> None:
    site.put_record(1)
    site.put_record(9, external_id={"pod": "a", "namespace": "b"}, provider="kubernetes")
    found, said = site.listed(zookeeper=True)
    assert found["_meta"]["hostvars"]["np0000000001"]["ansible_user"] == "zuul"
    assert len(found["_meta"]["hostvars"]) == 4
    assert "skipped: 0000000009; a driver other than openstack" in said


def test_a_partial_list_that_contradicts_the_records_is_an_error(site: Site) -> None:
    for number in (1, 2):
        site.put_record(number, hold_job="lease mine")
    site.clouds.settings("east", cells_down=True)
    _found, said = site.listed(fails=True, zookeeper=True, leases=["mine"])
    for number in (1, 2):
        assert f"{number:010d} (east, server {site.servers[f'{number:010d}']})" in said
    assert "on_missing: warn" in said
    site.listed(zookeeper=True, leases=["other"])
    site.listed(providers=["west"], zookeeper=True)


def test_nodes_that_no_cloud_lists_come_from_their_records(site: Site) -> None:
    for number in (1, 2):
        site.put_record(number, hold_job="lease mine", hostname=f"np{number:010d}")
    chosen: dict[str, Any] = {"zookeeper": True, "leases": ["mine"], "known_hosts": "known_hosts"}
    whole = site.listed(**chosen)[0]["lease_mine"]["hosts"]
    site.clouds.settings("east", cells_down=True)
    found, said = site.listed(**chosen, on_missing="warn")
    assert "clouds did not list the servers of live nodes" in said
    assert found["lease_mine"]["hosts"] == whole == ["np0000000001", "np0000000002"]
    one = found["_meta"]["hostvars"]["np0000000001"]
    assert (one["ansible_host"], one["ansible_port"], one["ansible_user"]) == ("127.0.0.77", 2222, "zuul")
    assert "known_hosts" in one["ansible_ssh_common_args"]
    assert one["nodepool"]["status"] == ""
    assert site.variables(**chosen, on_missing="warn", statuses=["ERROR"]) == {}


def test_a_playbook_for_a_lease_does_not_pass_without_its_hosts(site: Site) -> None:
    site.put_record(1, hold_job="lease mine")
    file = site.write(zookeeper=True, leases=["mine"])
    (site.folder / "acceptance.yml").write_text("- {hosts: lease_mine, gather_facts: false, tasks: []}\n")
    site.clouds.settings("east", cells_down=True)
    done = command(
        *("ansible-playbook", "-i", file, "acceptance.yml"),
        folder=site.folder,
        ANSIBLE_CONFIG=str(ROOT / "examples" / "ansible.cfg"),
    )
    assert done.returncode != 0, done.stdout
    assert "0000000001 (east" in " ".join(done.stderr.split())


def test_a_node_that_is_being_deleted_is_no_host(site: Site) -> None:
    site.put_record(1, state="used")
    site.put_record(2)
    assert "np0000000001" not in site.variables(zookeeper=True)
    assert list(site.variables(zookeeper=True, states=["used"])) == ["np0000000001"]
    number = 8
    site.servers[f"{number:010d}"] = site.create("west", number, "small")
    ident = site.servers[f"{number:010d}"]
    site.end_boots("west")
    assert "np0000000008" in site.variables()
    site.clouds.settings("west", delete={"kind": "fixed", "value": 60})
    CloudClient(Provider("west", "west", rate=0.0), clouds_config=str(site.clouds.clouds_yaml)).delete_server(ident)
    assert "np0000000008" not in site.variables()
    assert "np0000000008" not in site.variables(statuses=[])
    site.put_record(number, provider="west", hold_job="lease mine")
    _found, said = site.listed(fails=True, zookeeper=True, leases=["mine"])
    assert f"{number:010d} (west" in said


BAD: list[tuple[dict[str, Any], str]] = [
    ({"clouds": ["east"], "nodepool_config": "nodepool.yaml"}, "give either nodepool_config or clouds"),
    ({"nodepool_config": None}, "give either nodepool_config or clouds"),
    ({"clouds": ["east"], "zookeeper": True}, "zookeeper needs nodepool_config"),
    ({"states": ["hold"]}, "states needs zookeeper: true"),
    ({"leases": ["mine"]}, "leases needs zookeeper: true"),
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
