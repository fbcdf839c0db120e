# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a quick start needs on this machine, told in one message."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Callable

from ...model.errors import ConfigError

LIBRARIES = {
    "asyncssh": "asyncssh>=2.14",
    "jsonschema": "jsonschema>=4.10",
    "kazoo": "kazoo>=2.9.0,<2.12",
    "openstack": "openstacksdk>=4.0.0",
    "yaml": "PyYAML>=6.0",
}
"""Name for the import → the line of requirements.txt."""


def check_needs(
    find: Callable[[str], object] = importlib.util.find_spec, which: Callable[[str], str | None] = shutil.which
) -> None:
    """Check that the libraries and ssh are there.

    :raises ConfigError: something is missing; it has the lines to type.
    """
    missing = [line for name, line in LIBRARIES.items() if find(name) is None]
    problems = []
    if missing:
        names = ", ".join(line.partition(">")[0] for line in missing)
        packages = " ".join(shlex.quote(line) for line in missing)
        problems.append(
            f"the Python that runs Ansible ({sys.executable}) has no {names}. Run: {shlex.quote(sys.executable)}"
            f" -m pip install {packages}"
        )
    if which("ssh") is None:
        problems.append("this machine has no ssh. On Debian and Ubuntu: sudo apt-get install openssh-client")
    if problems:
        raise ConfigError(problems)
