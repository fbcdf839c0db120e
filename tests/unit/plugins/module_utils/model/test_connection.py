# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No value of a node record runs anything on the controller or changes an option of ssh."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model import connection

EVIL = [
    "-oProxyCommand=id",
    "{{ lookup('pipe', 'id') }}",
    "a b",
    "a\nb",
    "$(id)",
    "`id`",
    'x" ProxyCommand="id',
    "a%h",
    "\u202ea",
]


@pytest.mark.parametrize("value", ["ssh", "winrm", "psrp", "ansible.builtin.ssh", "paramiko_ssh"])
def test_plugins_that_work_on_the_node_are_taken(value):
    assert connection.connection_type(value) == value


@pytest.mark.parametrize("value", ["", None])
def test_ssh_is_the_default(value):
    assert connection.connection_type(value) == "ssh"


LOCAL = ["local", "ansible.builtin.local", "docker", "community.docker.docker", "community.docker.docker_api", "chroot"]
OTHER = [
    "community.general.chroot",
    "jail",
    "lxc",
    "incus",
    "buildah",
    "podman",
    "kubectl",
    "namespace",
    "project",
    "Local",
    " ssh",
]


@pytest.mark.parametrize("value", [*LOCAL, *OTHER, 7, True, ["ssh"], {}, "smart", "x" * 5000])
def test_all_others_are_refused(value):
    assert connection.connection_type(value) is None
    assert connection.connection_type(value, "local" if value == "local" else None) is None


@pytest.mark.parametrize("value", ["network_cli", "ansible.netcommon.network_cli", "netconf", "httpapi"])
def test_plugins_for_network_devices_only_as_the_configuration_says(value):
    assert connection.connection_type(value, value) == value
    assert connection.connection_type(value) is None
    assert connection.connection_type(value, "ssh") is None


@pytest.mark.parametrize(
    "value", ["192.0.2.7", "2001:db8::7", "fe80::1%eth0", "host.example.org", "np0000000001", "127.3.0.9"]
)
def test_addresses(value):
    assert connection.address(value) == value


@pytest.mark.parametrize(
    "value", [*EVIL, "", None, 7, "localhost", "LOCALHOST.", "-x", "a@b", "ssh://a", "fe80::1%-o x", "x" * 300]
)
def test_what_is_no_address(value):
    assert connection.address(value) == ""


@given(st.text())
def test_any_text_that_is_taken_for_an_address_is_one_word_and_no_option(text):
    found = connection.address(text)
    assert found in ("", text)
    assert not found.startswith("-") and len(found.split()) <= 1
    if not re.fullmatch(r"[A-Za-z0-9_.-]*", found):
        ipaddress.ip_address(found.partition("%")[0])


@pytest.mark.parametrize(
    "value", ["zuul", "Administrator", "DOMAIN\\user", "user@REALM", "machine$", "Jürgen", "first last"]
)
def test_users(value):
    assert connection.user(value) == value


@pytest.mark.parametrize(
    "value", [*[evil for evil in EVIL if evil != "a b"], "", None, "-l root", 'a"b', "a'b", "${HOME}"]
)
def test_what_is_no_user(value):
    assert connection.user(value) == ""


PYTHONS = [
    "/usr/bin/python3",
    "auto",
    "auto_legacy_silent",
    "python3.11",
    "C:\\Program Files\\Python\\python.exe",
    "/usr/bin/env python3",
]


@pytest.mark.parametrize("value", PYTHONS)
def test_interpreters(value):
    assert connection.python_path(value) == value


@pytest.mark.parametrize("value", [*EVIL, "/bin/sh -c id", "/usr/bin/env -S sh", "a;b", "/a|b", None])
def test_what_is_no_interpreter(value):
    assert connection.python_path(value) == ""


@pytest.mark.parametrize(
    ("value", "port"), [(22, 22), (65535, 65535), (0, 9), (70000, 9), (-1, 9), ("22", 9), (None, 9)]
)
def test_ports(value, port):
    assert connection.port(value, 9) == port


def test_shells_and_keys():
    assert [connection.shell_type(value) for value in ("powershell", "sh", "evil", None)] == [
        "powershell",
        "sh",
        "",
        "",
    ]
    keys = ["ssh-ed25519 AAAA", "ssh-rsa AAAA\n* ssh-rsa BBBB", "@cert-authority * ssh-rsa AAAA", 7, "ssh-rsa"]
    assert connection.host_keys(keys) == ["ssh-ed25519 AAAA"]


def test_refused_values_are_named():
    record = {"connection_type": "local", "username": "zuul", "interface_ip": "-x", "python_path": None}
    assert connection.refused(record) == ["connection_type 'local'", "interface_ip '-x'"]
