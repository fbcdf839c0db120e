# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ssh, and which node it goes to."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError, UnknownName
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.commands import LEASE_INFO
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.connecting import connect

NODE = {
    "id": "0000000007",
    "state": "hold",
    "address": "192.0.2.7",
    "port": 2222,
    "username": "zuul",
    "host_keys": ["ssh-ed25519 AAAA"],
}
LEASE = {"nodes": [{"id": "0000000006", "held": False}, {"id": "0000000007", "held": True}]}


class Ssh:
    """Stands for ssh."""

    def __init__(self, **changes) -> None:
        self.node = {**NODE, **changes}
        self.words: list[str] = []
        self.known = ""

    def ask(self, work, options):
        if work is LEASE_INFO:
            return {"leases": [LEASE]}
        assert options == {"ids": ["0000000007"]}
        return {"nodes": [self.node]}

    def run(self, words):
        self.words = list(words)
        with open(words[2].partition("=")[2].strip('"'), encoding="utf-8") as file:
            self.known = file.read()
        return 7

    def connect(self, **options):
        return connect(options, self.ask, self.run)


@pytest.mark.parametrize("target", ["0000000007", "web"])
def test_the_recorded_key_is_the_only_one(target):
    ssh = Ssh()
    assert ssh.connect(target=target, command=["uname", "-a"]) == 7
    assert ssh.known == "[192.0.2.7]:2222 ssh-ed25519 AAAA\n"
    assert "StrictHostKeyChecking=yes" in ssh.words
    assert "ControlPath=none" in ssh.words, "a former node may have had the address"
    assert "ServerAliveInterval=60" in ssh.words, "ssh itself waits for hours for a server that is gone"
    assert ssh.words[-6:] == ["-l", "zuul", "192.0.2.7", "--", "uname", "-a"]


def test_options_of_the_login():
    ssh = Ssh(host_keys=[], username=None)
    ssh.connect(target="web", identity="key", command=[])
    assert ssh.words[-3:] == ["-p", "2222", "192.0.2.7"]
    assert "StrictHostKeyChecking=accept-new" in ssh.words and "IdentitiesOnly=yes" in ssh.words


def test_a_record_cannot_give_options_to_ssh():
    ssh = Ssh(username="-oProxyCommand=evil")
    ssh.connect(target="web", command=[])
    assert not any("evil" in word for word in ssh.words)


def test_a_node_that_cannot_be_reached_is_an_error():
    with pytest.raises(NodepoolError, match="no address"):
        Ssh(address=None).connect(target="web")
    with pytest.raises(UnknownName, match="lease web has 1 node, but number is 2"):
        Ssh().connect(target="web", number=2)


def test_a_machine_without_ssh(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    ssh = Ssh()
    with pytest.raises(NodepoolError, match="this machine has no ssh"):
        connect({"target": "web", "command": []}, ssh.ask)
