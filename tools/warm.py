# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command that starts Ansible's commands many times, and forks these from a process that has imported them.

    python -m tools.warm FOLDER COMMAND [ARGUMENT ...]

COMMAND runs in FOLDER. It finds programs named ``ansible-doc`` and ``ansible-playbook`` first on its path. They hand
their files, words, directory and environment to the server of :mod:`tests.support.warm_server`. ansible-lint starts
``ansible-playbook`` for each playbook and role, galaxy-importer ``ansible-doc`` twice for each kind of plugin;
importing is most of what that costs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.warm_ansible import LIBRARIES, other_than
from tests.support.warm_python import WarmServer, write_client

COMMANDS = ("ansible-doc", "ansible-playbook")


def main(folder: Path, words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run the command; its exit status."""
    given = dict(variables)
    settings = folder.absolute() / "ansible.cfg"
    if settings.exists():
        # Ansible reads its settings only once; the server works in another folder.
        given.setdefault("ANSIBLE_CONFIG", str(settings))
    modules = [f"ansible.cli.{name.removeprefix('ansible-')}" for name in COMMANDS]
    server = WarmServer([*modules, *LIBRARIES], given)
    try:
        for name in COMMANDS:
            real = shutil.which(name, path=given["PATH"])
            assert real, name
            path = server.folder / name
            write_client(path, server.address, command=name, real=[real], unless=other_than(given))
        given["PATH"] = f"{server.folder}:{given['PATH']}"
        return subprocess.run(words, cwd=folder, env=given, check=False).returncode
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:], os.environ))
