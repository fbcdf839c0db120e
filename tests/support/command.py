# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command nodepoolctl as a process, as a shell starts it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

from tests.support.ansible_run import BIN, COLLECTIONS, environment, warm_ansible

PROGRAM = "ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl"


def installed(folder: Path, collections: Path = COLLECTIONS) -> Path:
    """A file ``nodepoolctl`` in *folder*, which runs the command of the collections there; ours is forked."""
    path = folder / "nodepoolctl"
    python = warm_ansible().python if collections == COLLECTIONS else sys.executable
    # The folder may be that of several workers.
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(
        f"#!{python}\nimport sys\nsys.path.insert(0, {str(collections)!r})\n"
        f"from {PROGRAM}.__main__ import main\nsys.exit(main())\n"
    )
    new.chmod(0o755)
    new.replace(path)
    return path


def words_of(*words: str) -> list[str]:
    """The command line."""
    return [sys.executable, "-m", PROGRAM, *words]


def surroundings(folder: Path, config: Path | None, **more: str) -> dict[str, str]:
    """The environment of the command."""
    named = {} if config is None else {"NODEPOOL_CONFIG": str(config)}
    return environment(folder, PYTHONPATH=str(COLLECTIONS), **named, **more)


@functools.cache
def _forked() -> Path:
    """The command for the tests of this run, on nobody's path."""
    return installed(warm_ansible().python.parent)


def nodepoolctl(
    *words: str,
    folder: Path,
    config: Path | None = None,
    timeout: float = 120,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; it is forked."""
    return subprocess.run(
        [str(_forked()), *words],
        cwd=folder,
        env=surroundings(folder, config),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


BIN_COMMAND = BIN / "nodepoolctl"
"""Where ``make setup`` puts it."""
