# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host keys as ssh reads them."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.known_hosts import (
    is_without_names,
    known_hosts_lines,
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


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("", True),
        ("192.0.2.7 ssh-ed25519 AAAA\n[2001:db8::7]:2222 ssh-rsa BBBB\n", True),
        ("192.0.2.7 ssh-ed25519 AAAA\ngit.example ssh-rsa BBBB\n", False),
        ("|1|abc=|def= ssh-ed25519 AAAA\n", False),
        ("# mine\n192.0.2.7 ssh-ed25519 AAAA\n", False),
        ("192.0.2.7,git ssh-ed25519 AAAA\n", False),
        ("Host work\n  User me\n", False),
    ],
)
def test_a_file_without_a_mark_is_ours_only_if_it_knows_addresses_alone(text, ours):
    assert is_without_names(text, "cache/known_hosts") is ours
    assert not is_without_names(text, "me/.ssh/known_hosts")
