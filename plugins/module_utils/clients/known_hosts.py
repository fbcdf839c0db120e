# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded host keys in the form that ssh reads."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

_ADDRESS_LINE = re.compile(r"(?:[0-9a-fA-F:.]+|\[[0-9a-fA-F:.]+\]:\d+) \S+ \S+")
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


def is_without_names(text: str, path: str) -> bool:
    """Return True for a known_hosts file as the inventory wrote it before it had a mark: with keys of addresses only.

    :param path: of the file; what is in a folder ``.ssh`` is a person's own.
    """
    if os.path.basename(os.path.dirname(path)) == ".ssh":
        return False
    return all(_ADDRESS_LINE.fullmatch(line) for line in text.splitlines())
