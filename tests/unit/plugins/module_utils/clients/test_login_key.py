# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for the login: a person's own where it needs no question, or else a new one."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import asyncssh
import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.login_key import (
    made_key,
    named_key,
    public_line,
    usable_own_key,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def write_pair(home: Path, name: str, passphrase: str | None = None) -> str:
    (home / ".ssh").mkdir(exist_ok=True)
    path = str(home / ".ssh" / name)
    kind = name.removeprefix("id_")
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase or "", "-f", path], check=True, timeout=60)
    return path


@pytest.fixture(autouse=True)
def no_agent(monkeypatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def test_a_key_of_ones_own_that_needs_no_passphrase(tmp_path):
    assert usable_own_key(str(tmp_path)) is None
    write_pair(tmp_path, "id_ed25519", "secret")
    assert usable_own_key(str(tmp_path)) is None
    path = write_pair(tmp_path, "id_ecdsa")
    found = usable_own_key(str(tmp_path))
    assert found is not None and found.own and found.private_path == path
    assert found.public_text.startswith("ecdsa-sha2-nistp256 ")
    assert named_key(f"{path}.pub") == named_key(path) == found


def test_a_key_that_ssh_would_refuse_is_told_and_not_chosen(tmp_path):
    path = write_pair(tmp_path, "id_ed25519")
    assert usable_own_key(str(tmp_path)) is not None
    Path(path).chmod(0o640)
    assert usable_own_key(str(tmp_path)) is None
    with pytest.raises(ConfigError, match=f"chmod 600 {path}"):
        named_key(f"{path}.pub")


def test_a_named_key_that_no_login_could_use_is_told_before_anything_is_made(tmp_path):
    path = write_pair(tmp_path, "id_ed25519", "secret")
    with pytest.raises(ConfigError, match=f"if it has a passphrase, give it to an agent .ssh-agent, ssh-add {path}"):
        named_key(path)
    other = write_pair(tmp_path, "id_ecdsa")
    public = Path(f"{path}.pub").read_text()
    Path(f"{other}.pub").write_text(public)
    with pytest.raises(ConfigError, match=f"{other}.pub is not the public half of {other}"):
        named_key(other)
    Path(other).unlink()
    with pytest.raises(ConfigError, match=f"{other}: the private half of {other}.pub is not there"):
        named_key(other)


def test_a_key_that_the_agent_has(tmp_path, monkeypatch):
    path = write_pair(tmp_path, "id_ed25519", "secret")
    agent = tmp_path / "ssh-add"
    agent.write_text(f"#!/bin/sh\ncat {path}.pub\n")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert usable_own_key(str(tmp_path)) is None, "without the variable there is no agent"
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    assert usable_own_key(str(tmp_path)) is not None
    assert named_key(path).private_path == path


def test_a_new_key_is_private_and_made_once(tmp_path):
    first = made_key(str(tmp_path))
    assert not first.own and made_key(str(tmp_path)) == first
    assert stat.S_IMODE(Path(first.private_path).stat().st_mode) == 0o600
    assert asyncssh.read_private_key(first.private_path).export_public_key().split()[1].decode() in first.public_text


def test_what_is_no_public_key_is_told(tmp_path):
    private = write_pair(tmp_path, "id_ed25519")
    with pytest.raises(ConfigError, match="the option: this is a private key: give the public half"):
        public_line(Path(private).read_text(), "the option")
    for text in ("", "hello", "ssh-ed25519", "ssh-rsa AAAA\nssh-rsa BBBB"):
        with pytest.raises(ConfigError, match="not a public ssh key"):
            public_line(text, "the option")
    with pytest.raises(ConfigError, match=r"none\.pub: the public key cannot be read: No such file"):
        named_key(str(tmp_path / "none"))
