# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks a process for each module that a test runs; ``python -m tests.support.module_server ASKED END``.

The libraries and the code of the collection are imported once, here: importing them is three quarters of what most
modules need. Both words are numbers of sockets: it is asked on the first, and ends when the other end of the second is
closed. See :mod:`tests.support.ansible_run`.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import socket
import sys
from typing import Any

from tests.support.ansible_run import MODULES, PROGRAMS, ROOT
from tests.support.warm_ansible import WHEN_NEEDED
from tests.support.warm_server import end_as_program, use_basics

LONGEST_REQUEST = 1 << 17


def preload() -> None:
    """Import what modules import. None of it starts a thread, so that the process can be forked."""
    for path in sorted((ROOT / "plugins" / "modules").glob("*.py")):
        importlib.import_module(f"{MODULES}.{path.stem}")
        # It has to run as a program, which Python warns of when it is known already.
        del sys.modules[f"{MODULES}.{path.stem}"]
    for name in WHEN_NEEDED:
        importlib.import_module(name)
    use_basics()
    gc.collect()
    gc.freeze()


class Server:
    """Forks for each request, and sends the process id at once and the exit code at the end."""

    def __init__(self, requests: socket.socket, end: socket.socket) -> None:
        self._requests = requests
        self._end = end
        self._clients: dict[int, socket.socket] = {}
        """The client of each process, by the number of a file that can be read as soon as the process has ended."""

    def serve(self) -> dict[str, Any] | None:
        """What to run, in the child; None in the server when it is no longer needed."""
        while True:
            files: list[socket.socket | int] = [self._requests, self._end, *self._clients]
            ready = select.select(files, [], [])[0]
            if self._end in ready:
                return None
            for file in ready:
                if isinstance(file, int):
                    self._ended(file)
            if self._requests in ready and (wanted := self._begin()) is not None:
                return wanted

    def _begin(self) -> dict[str, Any] | None:
        """Fork for a request; what it says, in the child."""
        text, files, _flags, _address = socket.recv_fds(self._requests, LONGEST_REQUEST, 3)
        output, errors, client = files
        if not (pid := os.fork()):
            self._become_child(output, errors)
            os.close(client)
            document: dict[str, Any] = json.loads(text)
            return document
        os.close(output)
        os.close(errors)
        file = os.pidfd_open(pid)
        self._clients[file] = socket.socket(fileno=client)
        tell(self._clients[file], pid)
        return None

    def _become_child(self, output: int, errors: int) -> None:
        self._requests.close()
        self._end.close()
        for file, client in self._clients.items():
            os.close(file)
            client.close()
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)

    def _ended(self, file: int) -> None:
        """A process has ended."""
        ended = os.waitid(os.P_PIDFD, file, os.WEXITED)
        os.close(file)
        with self._clients.pop(file) as client:
            if ended:
                tell(client, ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)


def tell(client: socket.socket, number: int) -> None:
    """Send a number."""
    with contextlib.suppress(OSError):  # the test may be over
        client.sendall(array.array("i", [number]).tobytes())


def run(module: str, arguments: str, folder: str, variables: dict[str, str]) -> None:
    """What ``python -m MODULE ARGUMENTS`` does in *folder*."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    if programs := variables.get(PROGRAMS):
        sys.executable = os.path.join(programs, "python3")
    sys.argv = [module, arguments]
    sys.path[0] = folder
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def main() -> None:
    """Serve, or be what was asked for."""
    preload()
    requests, end = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    if wanted := Server(requests, end).serve():
        end_as_program(lambda: run(**wanted))


if __name__ == "__main__":
    main()
