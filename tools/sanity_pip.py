# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``ansible-test sanity`` calls as pip in the virtual environments that it makes: uv installs, or else pip.

ansible-test installs packages in nine environments. For each of them it starts pip twice: to install a few packages,
and to remove pip again. uv needs a third of the time for all of that. ``tools/sanity.py`` writes beside the home
folder's copy of this file how both are started.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TIMEOUT = 300.0
"""Seconds."""


def main(words: list[str]) -> int:
    """Do what pip is asked for; its exit status."""
    if words[0] == "uninstall":
        # Of pip itself: there is nothing else that ansible-test takes away.
        shutil.rmtree(Path(__file__).parent)
        return 0
    how = json.loads((Path.home() / "sanity_pip.json").read_text("utf-8"))
    environment = {**os.environ, **how["variables"]}
    if words[0] == "install":
        given = [word for word in words[1:] if word != "--disable-pip-version-check"]
        try:
            command = [*how["uv"], "--python", sys.executable, *given]
            if subprocess.run(command, env=environment, timeout=TIMEOUT, check=False).returncode == 0:
                return 0
        except (OSError, subprocess.TimeoutExpired) as problem:
            print(problem)
        print("uv did not do it; pip does", flush=True)
    command = [*how["pip"], "--python", sys.executable, *words]
    return subprocess.run(command, env=environment, timeout=TIMEOUT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
