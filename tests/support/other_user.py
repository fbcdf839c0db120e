# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another user of this machine, as whom programs of the collection run, as the services that the roles install do."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ansible_run import COLLECTIONS

NAMES = ("nobody", "daemon")
"""Accounts that every distribution has: that of the programs, and that of somebody else."""


@dataclass(frozen=True)
class OtherUser:
    """An account of the machine, and the umask with which its programs run."""

    uid: int
    gid: int
    umask: int = 0o077

    def as_process(self) -> dict[str, Any]:
        """The arguments of subprocess for a program of this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": [], "umask": self.umask}

    def give(self, folder: Path) -> None:
        """Make the user the owner of a folder and of all that is in it, as a deployment does."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def can_read_or_write(self, folder: Path) -> list[str]:
        """The paths of the folder, with itself, that are open to the user."""
        words = ["find", str(folder), "(", "-readable", "-o", "-writable", ")"]
        done = subprocess.run(words, check=False, capture_output=True, text=True, **self.as_process())
        return str(done.stdout).splitlines()

    def may(self, what: str, path: Path, *, groups: tuple[int, ...] = ()) -> bool:
        """Whether the user may do that with the path: ``-r``, ``-w`` or ``-x`` of test(1)."""
        account = {**self.as_process(), "extra_groups": groups}
        return subprocess.run(["test", what, str(path)], check=False, **account).returncode == 0


def other_users() -> tuple[OtherUser, OtherUser] | str:
    """Two other users, or why there are none."""
    if os.geteuid() != 0:
        return "only root can run programs as another user"
    try:
        found = [pwd.getpwnam(name) for name in NAMES]
    except KeyError as problem:
        return f"this machine lacks an account: {problem}"
    one, other = (OtherUser(account.pw_uid, account.pw_gid) for account in found)
    words = [sys.executable, "-c", "import ansible, ansible_collections.stackci.nodepool"]
    try:
        tried = subprocess.run(
            words, cwd="/", env={"PYTHONPATH": str(COLLECTIONS)}, capture_output=True, check=False, **one.as_process()
        )
    except OSError as problem:
        return f"another user cannot run the Python of the tests here: {problem}"
    return (one, other) if tried.returncode == 0 else "another user cannot read this checkout or its .venv"


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder to which every user has a way: pytest's own ones are private."""
    with tempfile.TemporaryDirectory(prefix="nodepool-other-user-") as name:
        os.chmod(name, 0o755)
        yield Path(name)
