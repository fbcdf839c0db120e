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
import signal
import socket
import sys
from types import FrameType
from typing import Any

from tests.support.ansible_run import MODULES, ROOT
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
    """Forks for each request, and sends the process id at once and the wait status at the end."""

    def __init__(self, requests: socket.socket, end: socket.socket) -> None:
        self._requests = requests
        self._end = end
        self._clients: dict[int, socket.socket] = {}

    def serve(self) -> dict[str, Any] | None:
        """What to run, in the child; None in the server when it is no longer needed."""
        signal.signal(signal.SIGCHLD, self._reap)
        while self._end not in select.select([self._requests, self._end], [], [])[0]:
            text, files, _flags, _address = socket.recv_fds(self._requests, LONGEST_REQUEST, 3)
            output, errors, client = files
            # Not before the child is known is its end dealt with.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
            if not (pid := os.fork()):
                self._become_child(output, errors)
                os.close(client)
                document: dict[str, Any] = json.loads(text)
                return document
            os.close(output)
            os.close(errors)
            self._clients[pid] = socket.socket(fileno=client)
            self._tell(pid, pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        return None

    def _become_child(self, output: int, errors: int) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        self._requests.close()
        self._end.close()
        for client in self._clients.values():
            client.close()
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)

    def _reap(self, _number: int, _frame: FrameType | None) -> None:
        while self._clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._tell(pid, status)
            self._clients.pop(pid).close()

    def _tell(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # the test may be over
            self._clients[pid].sendall(array.array("i", [number]).tobytes())


def run(module: str, arguments: str, folder: str, variables: dict[str, str]) -> None:
    """What ``python -m MODULE ARGUMENTS`` does in *folder*."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
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
