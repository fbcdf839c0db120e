# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python interpreter for Ansible that has imported what modules need.

An Ansible module is a program of its own that imports, or unpacks and compiles, some fifty files before it begins,
which is nine tenths of what it costs. :class:`WarmPython` makes a file to be named as ``ansible_python_interpreter``:
it hands its standard files, directory, environment and words to a server (:mod:`tests.support.warm_server`), which
forks a process that runs the program. The process that Ansible has started is not the one that runs the module: it
passes signals on, but tests that look for modules in /proc use the real interpreter.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]

CLIENT = """#!{python} -IS
import os, sys
environment = dict(os.environ)
if {unless}:
    os.execv({real[0]!r}, [*{real!r}, *sys.argv[1:]])
import _signal, _socket, marshal
me = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
try:
    me.connect({place})
except OSError:
    os.execv({real[0]!r}, [*{real!r}, *sys.argv[1:]])
mask = os.umask(0)
os.umask(mask)
text = marshal.dumps([{command!r}, sys.argv[1:], os.getcwd(), environment, mask])
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
passed = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM)
# Whoever sees that the program has begun may send a signal before the server knows which program this process has.
blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, passed)
me.sendmsg([text], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
me.recv(4)
# Python itself would act on a signal after the next answer only, if it came just before the waiting for that.
me.settimeout(1e6)
_signal.set_wakeup_fd(me.fileno(), warn_on_full_buffer=False)
for number in passed:
    if _signal.getsignal(number) != _signal.SIG_IGN:
        _signal.signal(number, lambda number, frame: None)
_signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
answer = me.recv(4)
code = int.from_bytes(answer, sys.byteorder, signed=True) if answer else 70
if code < 0:
    if code != -_signal.SIGKILL:
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
"""It imports nothing that is a file: the modules of ``socket`` and ``json`` would double what it costs.
Where the server was killed with what it belonged to, the real program is run."""
ADDRESS = "WARM_SERVER"
"""The variable that has the address of a server in hexadecimal digits, for clients that are not written for one."""

OPTIONS = 'sys.argv[1:] and sys.argv[1].startswith("-")'
"""An interpreter with options does what a server does not know."""


def write_client(
    path: Path, address: str | None, *, command: str | None, real: Sequence[str | Path], unless: str = "False"
) -> None:
    """Write a program that has a server do what it is asked for, and passes signals on.

    :param address: None for the one that the environment has as :data:`ADDRESS`.
    :param command: the name of a command of Ansible; None for an interpreter.
    :param real: what is run *unless* the server can, which is an expression with ``environment`` and ``sys``.
    """
    words = [*map(str, real)]
    place = f"bytes.fromhex(environment.get({ADDRESS!r}, ''))" if address is None else repr(address)
    text = CLIENT.format(python=sys.executable, place=place, command=command, real=words, unless=unless)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class WarmServer:
    """A process of :mod:`tests.support.warm_server`; it ends with :meth:`close`, or with this process.

    :param modules: Python names of what is imported. Modules of Ansible have to run as programs later.
    :param variables: the environment of the server.
    :param python: what its programs find as ``sys.executable``.
    :param module: another one, which takes the same words.
    """

    def __init__(
        self,
        modules: Iterable[str],
        variables: Mapping[str, str],
        python: Path | None = None,
        module: str = "tests.support.warm_server",
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm-")
        self.folder = Path(self._folder.name)
        self.address = str(self.folder / "socket")
        end, self._ours = socket.socketpair()
        with end, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(self.address)
            # Whoever asks before the server has imported everything waits for its answer.
            listening.listen(64)
            numbers = [listening.fileno(), end.fileno()]
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", module, *map(str, numbers)),
                    *(str(python or sys.executable), *modules),
                ],
                cwd=ROOT,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                pass_fds=numbers,
                # Nothing that it forks may ask at the terminal of the tests.
                start_new_session=True,
            )

    def close(self) -> None:
        """End the server; programs that still run go on."""
        self._ours.close()
        self._process.wait(30)
        self._folder.cleanup()


class WarmPython:
    """``with WarmPython(modules, variables) as warm:``, then Ansible's interpreter is :attr:`path`.

    The parameters are those of :class:`WarmServer`.
    """

    def __init__(self, modules: Iterable[str], variables: Mapping[str, str]) -> None:
        self._server = WarmServer(modules, variables)
        self.path = self._server.folder / "python3"
        write_client(
            *(self.path, self._server.address),
            command=None,
            real=[sys.executable],
            unless=OPTIONS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._server.close()
