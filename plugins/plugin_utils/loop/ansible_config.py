# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ansible.cfg of a cycle.

While a module works, ansible-playbook asks its worker every millisecond whether it has ended, for the whole cycle. The
setting ``internal_poll_interval`` makes that interval longer. ansible-core has no environment variable for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

NAME = "ansible.cfg"
TEXT = "[defaults]\ninternal_poll_interval = 0.05\n"
SYSTEM = Path("/etc/ansible") / NAME


def write_config(folder: Path, environment: Mapping[str, str], system: Path = SYSTEM) -> None:
    """Write an ansible.cfg into the directory in which ansible-playbook starts, unless the operator has one.

    Ansible reads one file only: the one that ``ANSIBLE_CONFIG`` names, then the one in the current directory, then
    ``~/.ansible.cfg``, then the system's. The loop's file must not hide the last two.

    :param folder: the current directory of ansible-playbook; private to the user.
    :param environment: the environment of ansible-playbook.
    :param system: path of the system's file.
    """
    home = environment.get("HOME") or os.path.expanduser("~")
    if not any(_sets_something(path) for path in (Path(home) / f".{NAME}", system)):
        (folder / NAME).write_text(TEXT, encoding="utf-8")


def _sets_something(path: Path) -> bool:
    """Return False for an unreadable file, and for one with comments only, as packages of ansible-core have."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip() and line.strip()[0] not in "#;[" for line in lines)
