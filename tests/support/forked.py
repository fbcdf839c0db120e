# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that a server forks for this one; what tests use of :class:`subprocess.Popen` has the same names."""

from __future__ import annotations

import abc
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class Elsewhere(abc.ABC):
    """A process that is the child of a server.

    :ivar pid: its process id.
    """

    pid: int

    @abc.abstractmethod
    def wait(self, timeout: float | None = None) -> int:
        """The return code, as soon as it has ended.

        :raises subprocess.TimeoutExpired: it has not.
        """

    def poll(self) -> int | None:
        """The return code; None while it runs."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ForkedProcess(Elsewhere):
    """Asked for at a server (:mod:`tests.support.warm_server`), which kills it when this process ends.

    :param command: the name of a command of Ansible; None for a file with a Python program, the first of *words*.
    :param files: numbers of its standard files.
    :param timeout: seconds until it must have begun; None for as long as the server needs to start.
    :param mask: its umask; None for the server's.
    """

    def __init__(
        self,
        address: str,
        command: str | None,
        words: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        files: tuple[int, int, int],
        timeout: float | None = None,
        mask: int | None = None,
    ) -> None:
        self.args = [*([command] if command else []), *words]
        self.returncode: int | None = None
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._server.settimeout(timeout)
            self._server.connect(address)
            text = marshal.dumps([command, list(words), str(folder), dict(variables), mask])
            socket.send_fds(self._server, [text], files)
            self.pid = int.from_bytes(self._server.recv(4), sys.byteorder)
        except TimeoutError:
            self.close()
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                answer = self._server.recv(4)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            # Without an answer the server has ended.
            self.returncode = int.from_bytes(answer, sys.byteorder, signed=True) if answer else -signal.SIGKILL
            self.close()
        return self.returncode

    def close(self) -> None:
        """End what was asked for, if it still runs."""
        self._server.close()
