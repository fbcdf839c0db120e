# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines for Nodepool's driver static: an sshd that answers on loopback addresses."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.simcloud.guests.manager import PRIVILEGE_SEPARATION

MACHINES = ("127.0.0.2", "127.0.0.3")


def machines(port: int, host_key: str, name: str = "machine") -> dict[str, Any]:
    """A provider of Nodepool's driver static, whose machines have that label."""
    nodes = [
        {"name": one, "labels": [name], "connection-port": port, "host-key": host_key, "username": "zuul"}
        for one in MACHINES
    ]
    return {"name": "machines", "driver": "static", "pools": [{"name": "main", "nodes": nodes}]}


@contextmanager
def sshd(folder: Path) -> Iterator[tuple[int, str]]:
    """An sshd on all loopback addresses: its port, and its public host key as Nodepool's host-key has it."""
    PRIVILEGE_SEPARATION.mkdir(mode=0o755, parents=True, exist_ok=True)
    key = folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert program is not None, "there is no sshd"
    settings = {"ListenAddress": "0.0.0.0", "PidFile": "none", "UsePAM": "no", "StrictModes": "no", "UseDNS": "no"}
    words = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    command = [program, "-D", "-e", "-f", "/dev/null", "-p", str(port), "-h", str(key), *words]
    with (folder / "sshd.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        yield port, " ".join(key.with_suffix(".pub").read_text("utf-8").split()[:2])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
