# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs modules and inventories as a user does: by Ansible's own commands, with nothing of the user's own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
COLLECTIONS = ROOT / "playbooks" / "collections"
MODULES = "ansible_collections.stackci.nodepool.plugins.modules"


@dataclass(frozen=True)
class Ran:
    """What a module returned and what was on the screen meanwhile."""

    result: dict[str, Any]
    screen: str


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a command that works in *folder*."""
    # Without byte code each process compiles some hundred files anew, a quarter of what most modules need in all.
    unwanted = ("ANSIBLE_", "OS_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {
        **kept,
        "HOME": str(folder),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        **more,
    }


def command(*words: str | Path, folder: Path, timeout: float = 90, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's commands in *folder*; *more* is added to its environment."""
    program = BIN / str(words[0])
    return subprocess.run(
        [str(program), *map(str, words[1:])],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def play_of(module: str, options: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> str:
    """A playbook that runs one module."""
    task = {
        "name": "Work",
        f"stackci.nodepool.{module}": dict(options),
        "ignore_errors": True,
        "check_mode": check,
        "diff": diff,
    }
    play = {"name": "One module", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
    return json.dumps([play])


def keeping(answer: Path) -> dict[str, str]:
    """The environment that has what a task returned written to the file *answer*."""
    return {
        "ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests" / "support" / "callbacks"),
        "ANSIBLE_CALLBACKS_ENABLED": "keep_answer",
        "KEEP_ANSWER": str(answer),
    }


def run_module(
    module: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    check: bool = False,
    diff: bool = False,
    timeout: float = 90,
) -> Ran:
    """Run a module of the collection by ansible-playbook."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    playbook = folder / "play.yml"
    playbook.write_text(play_of(module, options, check=check, diff=diff), encoding="utf-8")
    done = command("ansible-playbook", playbook, folder=folder, timeout=timeout, **keeping(answer))
    if not answer.exists():
        raise AssertionError(f"the play left no answer:\n{done.stdout}\n{done.stderr}")
    return Ran(json.loads(answer.read_text(encoding="utf-8")), done.stdout)


def run_alone(
    module: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    check: bool = False,
    diff: bool = False,
    timeout: float = 90,
) -> Ran:
    """Run a module of the collection as Ansible does, without Ansible around it, which takes longer than most modules.

    For tests of what a module says; each module has others that run it by :func:`run_module`.
    """
    arguments = {**options, "_ansible_check_mode": check, "_ansible_diff": diff}
    file = folder / "arguments.json"
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", f"{MODULES}.{module}", str(file)],
        cwd=folder,
        env={**environment(folder), "PYTHONPATH": str(COLLECTIONS)},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 1, done.stdout + done.stderr
    return Ran({"failed": False, **json.loads(lines[0])}, done.stdout + done.stderr)
