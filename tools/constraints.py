# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the packages of the environment that runs it into a file: versions, and the hashes of all files of each.

    python tools/constraints.py CONSTRAINTS

The hashes are those of the official index, whatever index this machine uses: the file is for everybody.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEADER = """\
# SPDX-FileCopyrightText: 2026 The stackci.nodepool contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# The versions that the checks were last run with, all at once, and the hashes of their files. Written by
# tools/constraints.py ("make constraints"); "make setup" installs nothing else.
"""
TIMEOUT = 900


def installed() -> str:
    """A line for each package of this environment, except pip, which brings itself."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "freeze", "--all", "--exclude", "pip"]
    frozen = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    return "".join(f"{line}\n" for line in sorted(frozen.splitlines(), key=str.lower))


def hashed(versions: str) -> str:
    """The lines with the hashes of the official index."""
    command = [sys.executable, "-m", "uv", "--no-config", "pip", "compile", "--quiet", "--no-deps", "--no-header"]
    command += ["--no-annotate", "--generate-hashes", "-"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    if "PIP_CERT" in os.environ:
        environment.setdefault("SSL_CERT_FILE", os.environ["PIP_CERT"])
    done = subprocess.run(
        command, input=versions, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=TIMEOUT
    )
    return done.stdout


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(HEADER + hashed(installed()), encoding="utf-8")
