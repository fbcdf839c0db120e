# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that Ansible marks: encrypted ones, and texts that are no templates whatever they look like."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

PASSWORD = b"the-password-of-the-vault"


class Vault(str):
    """A text that is encrypted in the file."""

    __slots__ = ()


class Unsafe(str):
    """A text that is never a template."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes both with their tags."""


@functools.cache
def _encrypted(text: str) -> str:
    return str(VaultLib([("default", VaultSecret(PASSWORD))]).encrypt(text).decode())


_Dumper.add_representer(Vault, lambda to, text: to.represent_scalar("!vault", _encrypted(text), style="|"))
_Dumper.add_representer(Unsafe, lambda to, text: to.represent_scalar("!unsafe", str(text), style='"'))


def write(path: Path, content: Any) -> None:
    """Write a file of variables."""
    path.write_text(yaml.dump(content, Dumper=_Dumper, sort_keys=False), "utf-8")


def password_file(folder: Path) -> dict[str, str]:
    """The environment by which Ansible's commands decrypt the values."""
    path = folder / "vault-password"
    path.write_bytes(PASSWORD)
    return {"ANSIBLE_VAULT_PASSWORD_FILE": str(path)}
