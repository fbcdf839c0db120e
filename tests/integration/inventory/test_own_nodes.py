# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory beside others: servers of other trees, hosts of other sources, encrypted files, a damaged cache."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.inventory.nodepool import MARK
from tests.support.ansible_run import command
from tests.support.inventory_site import TREE, Site, made, plain

OTHER = "f" * 32
NAMES = [f"np{number:010d}" for number in (1, 2, 3, 4)]
FAILING: dict[str, Any] = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"}


def without_blanks(text: str) -> str:
    """Ansible breaks long lines, before 2.19 also at hyphens."""
    return "".join(text.split())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made(tmp_path_factory.mktemp("inventory")) as site:
        yield site


def test_only_nodes_of_this_tree_are_hosts(site: Site) -> None:
    foreign = site.create("east", 1, "small", tree=OTHER)
    stock = site.create("east", 7, "small", tree="")
    site.servers["0000000007"] = stock
    stray = site.create("east", 8, "small", tree="")
    site.put_record(7)
    site.end_boots("east")
    chosen: dict[str, Any] = {"zookeeper": True, "providers": ["east"]}
    assert sorted(site.variables(**chosen)) == [*NAMES[:3], "np0000000007"]
    _found, said = site.listed(fails=True, providers=["east"])
    assert f"the servers belong to several trees (id: number of servers): {TREE} (3), {OTHER} (1)" in said
    assert list(site.variables(**chosen, tree=OTHER)) == [NAMES[0]]
    (server,) = [host["nodepool"]["server_id"] for host in site.variables(providers=["east"], tree=OTHER).values()]
    assert server == foreign
    assert len(site.variables(**chosen, tree="any")) == 6
    for ident in (foreign, stock, stray):
        site.delete("east", ident)
    site.put_record(7, state="deleted")


def test_a_node_never_takes_over_a_host_of_another_source(site: Site) -> None:
    forged = site.create("west", 9, "small", name="db01")
    site.end_boots("west")
    static = site.folder / "hosts.ini"
    static.write_text("[databases]\ndb01 ansible_host=192.0.2.1\n[nodes]\nnp0000000002\n")
    assert "db01" not in site.variables(providers=["west"])

    def both(**options: Any) -> tuple[int, str]:
        file = site.write(**options)
        done = command("ansible-inventory", "-i", static, "-i", file, "--list", folder=site.folder, **FAILING)
        return done.returncode, without_blanks(done.stderr)

    status, said = both(providers=["west"], hostname="name")
    assert status != 0
    assert without_blanks(f"node 0000000009 (provider west, server {forged}) and the host db01 of {static}") in said
    status, said = both(providers=["east"])
    assert status != 0
    assert without_blanks(f"server {site.servers['0000000002']}) and the host np0000000002 of {static}") in said
    status, said = both(providers=["west"], hostnames=["'databases' if nodepool.node_id == '0000000004' else ''"])
    assert status != 0
    assert "andthegroupdatabases" in said
    status, _said = both(providers=["east"], hostnames=["nodepool.provider ~ '-' ~ nodepool.node_id"])
    assert status == 0
    twice = [site.write(name=name, providers=["east"]) for name in ("a.nodepool.yml", "b.nodepool.yml")]
    done = command("ansible-inventory", "-i", twice[0], "-i", twice[1], "--list", folder=site.folder, **FAILING)
    assert done.returncode == 0, "the same server by two inventories of this plugin"
    site.delete("west", forged)


def test_hosts_of_a_lease_have_address_user_and_key_of_the_record(site: Site, tmp_path: Path) -> None:
    site.put_record(1, hold_job="lease mine")
    file = site.write(zookeeper=True, leases=["mine"])
    done = command("ansible-inventory", "-i", file, "--list", folder=site.folder, ANSIBLE_HOME=str(tmp_path))
    (host,) = json.loads(done.stdout, object_hook=plain)["_meta"]["hostvars"].values()
    assert (host["ansible_host"], host["ansible_port"], host["ansible_user"]) == ("127.0.0.77", 2222, "zuul")
    (keys,) = (tmp_path / "stackci.nodepool").iterdir()
    assert str(keys) in host["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in host["ansible_ssh_common_args"]
    assert keys.read_text() == f"{MARK}\n[127.0.0.77]:2222 ssh-ed25519 AAAA\n"
    assert keys.stat().st_mode & 0o777 == 0o600
    assert "ansible_ssh_common_args" not in next(iter(site.variables(zookeeper=True, known_hosts="").values()))


def test_encrypted_files_are_decrypted_with_the_passwords_of_the_command(site: Site) -> None:
    password, wrong = site.folder / "vault-password", site.folder / "wrong-password"
    password.write_text("open sesame")
    wrong.write_text("else")

    def vaulted(name: str, text: str) -> None:
        (site.folder / name).write_text(text)
        command("ansible-vault", "encrypt", "--vault-password-file", password, name, folder=site.folder)
        assert (site.folder / name).read_text().startswith("$ANSIBLE_VAULT")

    clouds = site.clouds.clouds_yaml.read_text()
    vaulted("vaulted-clouds.yaml", clouds)
    vaulted("vaulted-nodepool.yaml", (site.folder / "nodepool.yaml").read_text())
    vaulted("vaulted-secure.conf", "zookeeper-auth: {username: ci, password: geheim}\n")
    secret = json.loads(clouds)["clouds"]["west"]["auth"]["password"]
    inline = command(
        *("ansible-vault", "encrypt_string", "--vault-password-file", password, "--name", "password", secret),
        folder=site.folder,
    ).stdout
    entry = json.loads(clouds)["clouds"]["west"]
    login = {key: value for key, value in entry["auth"].items() if key != "password"}
    lines = "\n".join("        " + line for line in inline.strip().splitlines())
    rest = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in entry.items() if key != "auth")
    more = "".join(f"        {key}: {json.dumps(value)}\n" for key, value in login.items())
    (site.folder / "inline-clouds.yaml").write_text(f"clouds:\n  west:\n{rest}    auth:\n{more}{lines}\n")

    def run(file: Path, *words: Any) -> tuple[int, str, str]:
        done = command("ansible-inventory", "-i", file, "--list", *words, folder=site.folder, **FAILING)
        return done.returncode, done.stdout, without_blanks(done.stderr)

    whole = site.write(
        clouds_config="vaulted-clouds.yaml",
        nodepool_config="vaulted-nodepool.yaml",
        secure_config="vaulted-secure.conf",
        zookeeper=True,
    )
    status, out, said = run(whole, "--vault-password-file", password)
    assert status == 0, said
    assert set(NAMES) <= set(json.loads(out)["_meta"]["hostvars"])
    for words, reason in (((), "password"), (("--vault-password-file", wrong), "ecryptionfailed")):
        status, _out, said = run(whole, *words)
        assert status != 0
        assert without_blanks("vaulted-clouds.yaml: is encrypted with ansible-vault: give its password") in said
        assert reason in said
    by_value = site.write(clouds_config="inline-clouds.yaml", clouds=["west"])
    status, out, said = run(by_value, "--vault-password-file", password)
    assert status == 0, said
    assert NAMES[3] in json.loads(out)["_meta"]["hostvars"]
    broken = site.write(clouds_config="vaulted-clouds.yaml", clouds=["north"])
    status, _out, said = run(broken, "--vault-password-file", password)
    assert status != 0
    assert "vaulted-clouds.yamlhasnoentry'north'" in said, "the error names the file, not its copy"


@pytest.mark.parametrize("content", ["[]", "{not json", '{"east": [], "west": {"listed_at": 1e12, "rows": [{}]}}'])
def test_a_damaged_cache_is_a_miss_with_a_warning(site: Site, content: str, tmp_path: Path) -> None:
    cache: dict[str, Any] = {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(tmp_path / "cache"),
        "cache_timeout": 3600,
    }
    whole = site.variables(**cache)
    (file,) = (tmp_path / "cache").iterdir()
    stored = json.loads(file.read_text())
    file.write_text(content if set(stored) != {"__payload__"} else json.dumps({"__payload__": content}))
    found, said = site.listed(**cache)
    assert sorted(found["_meta"]["hostvars"]) == sorted(whole)
    assert "the inventory cache" in said
    _found, said = site.listed(**cache)
    assert "the inventory cache" not in said, "it was written anew"


def listings(site: Site, **options: Any) -> tuple[list[str], int]:
    """The names of the hosts, and how many lists of servers were asked for."""
    for cloud in ("east", "west"):
        site.clouds.clear_calls(cloud)
    names = sorted(site.variables(**options))
    calls = [call for cloud in ("east", "west") for call in site.clouds.calls(cloud)]
    return names, len([call for call in calls if call["kind"] == "GET /servers/detail"])


def test_a_cache_is_used_while_it_is_young_and_never_when_it_is_old_or_of_a_time_to_come(
    site: Site, tmp_path: Path
) -> None:
    """ansible 32983: what had been read once was shown for ever; 45431: without a cache the plugin failed."""
    folder = tmp_path / "cache"
    cache: dict[str, Any] = {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(folder),
        "cache_timeout": 3600,
    }
    before, calls = listings(site, **cache)
    assert calls == 2
    new = site.create("east", 11, "small")
    site.end_boots("east")
    assert listings(site, **cache) == (before, 0)
    after = sorted([*before, "np0000000011"])
    assert listings(site, cache=False) == (after, 2)
    assert listings(site, cache=True, cache_plugin="ansible.builtin.memory") == (after, 2)
    (file,) = folder.iterdir()
    stored = file.read_text()

    def read_at(moment: float) -> None:
        file.write_text(re.sub(r"\d{10}\.\d+", f"{moment:.6f}", stored))

    read_at(time.time() - 7200.0)
    assert listings(site, **cache) == (after, 2)
    site.delete("east", new)
    read_at(time.time() + 7200.0)  # a clock that was ahead has written it
    assert listings(site, **cache) == (before, 2)


def test_a_server_that_two_providers_of_one_project_show_is_one_host(site: Site) -> None:
    """ansible 14662."""
    text = (site.folder / "nodepool.yaml").read_text()
    twin = text[text.index("  - name: east") : text.index("  - name: west")].replace("- name: east", "- name: east2", 1)
    (site.folder / "twice.yaml").write_text(text + twin)
    names, calls = listings(site, nodepool_config="twice.yaml")
    assert names == NAMES and calls == 2
