# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded host keys in the form that ssh reads."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterable

ONE_KEY = ("-o", "IdentitiesOnly=yes")
"""For ssh, beside a key: it offers no other. Servers end the connection after six keys, and an agent may have more."""


def ssh_arguments(known_hosts: str, *, checking: str = "yes", one_key: bool = False) -> str:
    """Return the options of ssh by which recorded host keys are used, as ``ansible_ssh_common_args`` takes them.

    :param known_hosts: path of the file; "" for none.
    :param checking: value of StrictHostKeyChecking.
    :param one_key: Ansible is given a private key, and no other is to be offered.
    """
    words: list[str] = []
    if known_hosts:
        words += ["-o", f'UserKnownHostsFile="{known_hosts}"', "-o", "GlobalKnownHostsFile=/dev/null"]
        words += ["-o", f"StrictHostKeyChecking={checking}"]
    return shlex.join([*words, *(ONE_KEY if one_key else ())])


def known_hosts_lines(address: str, port: int, keys: Iterable[str]) -> list[str]:
    """Return one line for each key; none when the address is invalid. A key is ``"<type> <base64>"``."""
    if len(address.split()) != 1:
        return []
    name = address if port == 22 else f"[{address}]:{port}"
    return [f"{name} {key}" for key in keys if len(key.split()) == 2 and "\n" not in key]


def write_known_hosts(path: str, text: str) -> None:
    """Replace the file atomically, so that a running ssh reads the old or the new file and never part of one.

    Nothing is written when the file already has this text.

    :raises OSError: when the file cannot be read or written.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    handle, temporary = tempfile.mkstemp(prefix=".known_hosts", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
