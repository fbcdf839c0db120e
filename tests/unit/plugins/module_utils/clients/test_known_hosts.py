# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys as ssh reads them."""

from __future__ import annotations

import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.known_hosts import (
    known_hosts_lines,
    write_known_hosts,
)


def test_a_port_other_than_22_is_part_of_the_name():
    assert known_hosts_lines("192.0.2.7", 22, ["ssh-ed25519 AAAA"]) == ["192.0.2.7 ssh-ed25519 AAAA"]
    assert known_hosts_lines("192.0.2.7", 2222, ["ssh-ed25519 AAAA"]) == ["[192.0.2.7]:2222 ssh-ed25519 AAAA"]


@pytest.mark.parametrize("address", ["", "192.0.2.7 evil", "a\nb"])
def test_what_is_no_address_gets_no_line(address):
    assert known_hosts_lines(address, 22, ["ssh-ed25519 AAAA"]) == []


@pytest.mark.parametrize("key", ["", "ssh-ed25519", "ssh-ed25519 AAAA comment", "ssh-ed25519\nAAAA"])
def test_what_is_no_key_gets_no_line(key):
    assert known_hosts_lines("192.0.2.7", 22, [key, "ssh-rsa BBBB"]) == ["192.0.2.7 ssh-rsa BBBB"]


def test_a_file_is_replaced_as_a_whole_and_only_when_it_changes(tmp_path):
    path = tmp_path / "known_hosts"
    write_known_hosts(str(path), "one\n")
    first = path.stat().st_ino
    write_known_hosts(str(path), "one\n")
    assert path.stat().st_ino == first
    write_known_hosts(str(path), "two\n")
    assert (path.read_text("utf-8"), path.stat().st_ino == first) == ("two\n", False)
    assert os.listdir(tmp_path) == ["known_hosts"]


def test_a_folder_that_is_not_there_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        write_known_hosts(str(tmp_path / "away" / "known_hosts"), "one\n")
    assert os.listdir(tmp_path) == []
