# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last state of a tree in a file: what is kept, who may read it, and whose file is believed."""

from __future__ import annotations

import gzip
import os
import stat
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.private_file import FolderNotPrivate
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import kept_tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.kept_tree import (
    FORGET,
    KeptStat,
    TooLarge,
    find,
    keep,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)

NODE = "/nodepool/nodes/0000000001"
SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("a", 2181, "/x"), ZooKeeperServer("b", 2181, "/x")))
NOW = 1000.0


@pytest.fixture(autouse=True)
def _services(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_tree, "SERVICES", str(tmp_path / "services" / "*" / "sessions"))


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture
def tree():
    made = Tree()
    made.put("/nodepool/nodes", b"", KeptStat(1, 1, 0, 0, 0))
    made.put(NODE, '{"state": "ready", "text": "é"}'.encode(), KeptStat(2, 9, 3, 1500, 2500))
    made.put("/nodepool/stackci/odd", b"\xff\x00", KeptStat(3, 3, 0, 0, 0))
    made.touch(f"{NODE}/lock", ["x__lock__0"])
    return made


def only(folder):
    (name,) = os.listdir(folder)
    return os.path.join(folder, name)


def test_what_was_kept_is_found_again(folder, tree):
    keep(folder, SETTINGS, tree, NOW)
    kept = find(folder, SETTINGS, NOW + 5)
    assert kept is not None
    assert kept.seen == NOW
    assert kept.tree.content() == tree.content()
    assert kept.tree.entry(NODE).stat == tree.entry(NODE).stat
    assert kept.tree.is_locked(f"{NODE}/lock")


def test_the_servers_in_any_order_and_the_chroot_name_the_tree(folder, tree):
    keep(folder, SETTINGS, tree, NOW)
    assert find(folder, replace(SETTINGS, servers=SETTINGS.servers[::-1]), NOW) is not None
    other = tuple(replace(server, chroot="/y") for server in SETTINGS.servers)
    assert find(folder, replace(SETTINGS, servers=other), NOW) is None


def test_nobody_else_may_read_it(folder, tree):
    keep(folder, SETTINGS, tree, NOW)
    assert stat.S_IMODE(os.stat(only(folder)).st_mode) == 0o600
    os.chmod(only(folder), 0o640)
    assert find(folder, SETTINGS, NOW) is None


def test_a_folder_that_others_may_write_to_is_not_used(folder, tree):
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    with pytest.raises(FolderNotPrivate):
        keep(folder, SETTINGS, tree, NOW)


@pytest.mark.parametrize("place", ["launcher/sessions", "webapp"])
def test_the_newest_of_all_services_counts(folder, tree, tmp_path, place):
    service = tmp_path / "services" / place
    service.mkdir(parents=True, mode=0o700)
    keep(folder, SETTINGS, tree, NOW)
    keep(str(service), SETTINGS, Tree(), NOW + 1)
    kept = find(folder, SETTINGS, NOW + 2)
    assert kept is not None and kept.seen == NOW + 1


def test_an_old_one_is_not_shown_and_goes_when_another_one_is_kept(folder, tree):
    keep(folder, SETTINGS, tree, NOW)
    assert find(folder, SETTINGS, NOW + FORGET + 1) is None
    old = only(folder)
    os.utime(old, (NOW, NOW))
    keep(folder, replace(SETTINGS, servers=SETTINGS.servers[:1]), tree, NOW)
    assert only(folder) != old


@pytest.mark.parametrize("large", ["document", "file"])
def test_a_tree_that_is_too_large_is_not_kept(folder, tree, monkeypatch, large):
    size = sum(len(data) for data in tree.content()[0].values())
    monkeypatch.setattr(kept_tree, "LARGEST", size - 1 if large == "document" else size + 1)
    with pytest.raises(TooLarge):
        keep(folder, SETTINGS, tree, NOW)
    assert os.listdir(folder) == []


def _damaged(data, how):
    lines = gzip.decompress(data).decode().split("\n")
    return {
        "empty": b"",
        "no gzip": b"{}",
        "cut": data[:-9],
        "flipped": data[:40] + bytes([data[40] ^ 255]) + data[41:],
        "no object": gzip.compress(b"[]"),
        "a line less": gzip.compress("\n".join(lines[:-1]).encode()),
        "another path": gzip.compress("\n".join(lines).replace("/nodepool/nodes", "/other").encode()),
    }[how]


@pytest.mark.parametrize("how", ["empty", "no gzip", "cut", "flipped", "no object", "a line less", "another path"])
def test_a_damaged_file_does_not_count(folder, tree, how):
    keep(folder, SETTINGS, tree, NOW)
    path = only(folder)
    with open(path, "rb") as file:
        data = _damaged(file.read(), how)
    with open(path, "wb") as file:
        file.write(data)
    assert find(folder, SETTINGS, NOW) is None
    keep(folder, SETTINGS, tree, NOW)
    assert find(folder, SETTINGS, NOW) is not None


def test_a_file_that_unpacks_to_more_than_any_kept_tree_is_not_read(folder, tree, monkeypatch):
    keep(folder, SETTINGS, tree, NOW)
    monkeypatch.setattr(kept_tree, "LARGEST", 10)
    assert find(folder, SETTINGS, NOW) is None


def test_a_link_is_not_followed(folder, tree, tmp_path):
    keep(folder, SETTINGS, tree, NOW)
    path = only(folder)
    elsewhere = tmp_path / "elsewhere"
    os.rename(path, elsewhere)
    os.symlink(elsewhere, path)
    assert find(folder, SETTINGS, NOW) is None
