# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a lease, as ssh and Ansible read them; and whose files are never touched."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.lease_files import LeaseFiles, bring
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.node_access_rows import node_row

KEY = "ssh-ed25519 AAAA"


def row(ident: str = "0000000007", **values: Any) -> dict[str, Any]:
    given = {"interface_ip": "192.0.2.7", "username": "zuul", "type": ["debian-12"], "host_keys": [KEY], **values}
    return node_row(Node(ident, **given))


@pytest.fixture
def files(tmp_path: Path) -> LeaseFiles:
    folder = tmp_path / "with blank"
    folder.mkdir()
    known_hosts, ssh_config, inventory, key = (str(folder / name) for name in ("known_hosts", "conf", "i.yml", "key"))
    return LeaseFiles(known_hosts, ssh_config, inventory, key)


def ssh_says(files: LeaseFiles, host: str, config: Path | None = None) -> dict[str, str]:
    command = ["ssh", "-G", "-F", str(config or files.ssh_config), host]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    return dict(line.split(" ", 1) for line in said.splitlines() if " " in line)


def test_ssh_reads_the_configuration(files: LeaseFiles) -> None:
    assert bring(files, "web", [row(connection_port=2222), row("0000000008", interface_ip="192.0.2.8", host_keys=[])])
    first, second = ssh_says(files, "np0000000007"), ssh_says(files, "192.0.2.8")
    assert (first["hostname"], first["port"], first["user"]) == ("192.0.2.7", "2222", "zuul")
    assert (first["stricthostkeychecking"], first["identityfile"]) == ("true", files.private_key)
    assert first["userknownhostsfile"] == files.known_hosts
    assert second["stricthostkeychecking"] == "accept-new"
    found = subprocess.run(
        ["ssh-keygen", "-F", "[192.0.2.7]:2222", "-f", str(files.known_hosts)],
        capture_output=True,
        check=False,
        timeout=30,
    )
    assert KEY.encode() in found.stdout


def test_ssh_uses_no_connection_that_is_left_of_another_node_with_the_address(files: LeaseFiles) -> None:
    """Clouds give the address of a deleted server away at once, and ~/.ssh/config may keep connections."""
    bring(files, "web", [row()])
    own = Path(str(files.ssh_config)).with_name("own")
    own.write_text(f'Include "{files.ssh_config}"\nHost *\n  ControlMaster auto\n  ControlPath ~/cm-%C\n')
    kept = ssh_says(files, "np0000000007", own).get("controlpath", "none")
    assert kept == "none"
    assert "cm-" in ssh_says(files, "192.0.2.99", own)["controlpath"]


def test_ansible_reads_the_inventory(files: LeaseFiles) -> None:
    bring(files, "web", [row(python_path="/usr/bin/python3"), row("0000000008", connection_type="winrm", username="")])
    inventory = InventoryManager(DataLoader(), [str(files.inventory)])
    hosts = {host.name: host.vars for host in inventory.get_hosts("label_debian_12:&leased_nodes")}
    assert hosts["np0000000007"]["ansible_host"] == "192.0.2.7"
    assert hosts["np0000000007"]["ansible_python_interpreter"] == "/usr/bin/python3"
    arguments = shlex.split(hosts["np0000000007"]["ansible_ssh_common_args"])
    assert arguments[-4:] == ["-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes"], "no other key of an agent"
    assert hosts["np0000000008"]["ansible_connection"] == "winrm" and "ansible_user" not in hosts["np0000000008"]


def test_repeating_changes_nothing_and_release_removes(files: LeaseFiles) -> None:
    paths = [Path(path) for path in (files.known_hosts, files.ssh_config, files.inventory) if path]
    assert bring(files, "web", [row()], preview=True) and not any(path.exists() for path in paths)
    assert bring(files, "web", [row()]) and not bring(files, "web", [row()])
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    paths[0].chmod(0o644)
    assert bring(files, "web", [row()]), "the mode is a part of it"
    assert bring(files, "web", None, preview=True) and all(path.exists() for path in paths)
    assert bring(files, "web", None) and not bring(files, "web", None)
    assert os.listdir(paths[0].parent) == []
    assert not bring(LeaseFiles(), "web", [row()])


def test_a_file_of_somebody_else_is_left_alone(files: LeaseFiles) -> None:
    mine = Path(str(files.ssh_config))
    mine.write_text("Host work\n  User me\n")
    for rows in ([row()], None):
        with pytest.raises(ConfigError, match="somebody else has written this file"):
            bring(files, "web", rows)
    assert mine.read_text() == "Host work\n  User me\n"
    mine.unlink()
    bring(files, "web", [row()])
    with pytest.raises(ConfigError, match="for lease other"):
        bring(files, "other", [row()])


def test_an_empty_file_is_no_file_of_somebody_else(files: LeaseFiles) -> None:
    """As ``mktemp`` makes it."""
    mine = Path(str(files.known_hosts))
    mine.touch()
    assert not bring(files, "web", None) and mine.exists()
    assert bring(files, "web", [row()]) and mine.read_text() != ""


def test_a_device_or_pipe_is_neither_replaced_nor_waited_for(files: LeaseFiles, tmp_path: Path) -> None:
    pipe, null = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for path in (pipe, null):
        for rows in ([row()], None):
            with pytest.raises(ConfigError, match="is not a regular file: name another one"):
                bring(replace(files, known_hosts=str(path)), "web", rows)
    assert pipe.is_fifo() and null.is_symlink()


def test_hostile_records_write_no_line_of_their_own(files: LeaseFiles) -> None:
    bring(files, "web", [row("../../x", interface_ip="1.2.3.4\n  ProxyCommand evil", username="-oProxyCommand=evil")])
    text = "".join(Path(path).read_text() for path in (files.known_hosts, files.ssh_config, files.inventory) if path)
    assert "evil" not in text and "../" not in text


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"ssh_config": "/a"}, "give known_hosts, too"),
        ({"known_hosts": "/a", "inventory": "/a"}, "are the same file"),
        ({"mode": 0o666}, "use '0600' or '0644'"),
    ],
)
def test_options_that_do_not_fit_are_told(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        LeaseFiles(**wrong).check()
