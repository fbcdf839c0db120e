# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python interpreter for Ansible that has imported what modules need; ``python -m tests.support.warm_python SOCKET``.

An Ansible module of somebody else is a program of its own that unpacks and compiles some fifty files before it begins,
which is nine tenths of what it costs. :class:`WarmPython` makes a file to be named as ``ansible_python_interpreter``:
it hands its standard files, directory, environment and words to a server, which forks a process that runs the program.
Only for tests of plays as a whole: the process that Ansible has started is not the one that runs the module.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 17
"""Bytes of a request; the environment is most of it."""

CLIENT = """#!{python} -IS
import array, json, os, socket, sys
me = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
me.connect({address!r})
text = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(me, [text], [0, 1, 2])
answer = me.recv(4)
sys.exit(array.array("i", answer)[0] if answer else 70)
"""


def preload(modules: Iterable[str]) -> None:
    """Import modules of Ansible, each of which has to run as a program later, with what they import."""
    for name in modules:
        importlib.import_module(name)
        del sys.modules[name]
    gc.collect()
    gc.freeze()


def program(words: list[str]) -> tuple[CodeType | None, list[str]]:
    """What standard input has when no words are given, as Ansible does with pipelining; None for a file."""
    if words:
        return None, words
    # It names no file, as in an interpreter that reads its program from there.
    return compile(sys.stdin.read(), "<stdin>", "exec"), [""]


def run(words: list[str]) -> int:
    """Run a program as the interpreter does, and return its exit code."""
    try:
        code, sys.argv = program(words)
        if code is None:
            sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
            runpy.run_path(words[0], run_name="__main__")
        else:
            main = sys.modules["__main__"] = type(sys)("__main__")
            exec(code, main.__dict__)
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve(server: socket.socket) -> None:
    """Answer until SIGTERM; in the child that runs a program: until that has ended."""
    running = set()
    while True:
        client, _address = server.accept()
        if pid := os.fork():
            client.close()
            running.add(pid)
            running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]}
            continue
        server.close()
        text, files, _flags, _unused = socket.recv_fds(client, LONGEST, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        words, folder, variables = json.loads(text)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(variables)
        status = run(words)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        client.sendall(array.array("i", [status]).tobytes())
        os._exit(0)


class WarmPython:
    """``with WarmPython(modules, variables) as warm:``, then Ansible's interpreter is :attr:`path`.

    :param modules: Python names of the modules to be run, which are imported with all that they import.
    :param variables: the environment of the server.
    """

    def __init__(self, modules: Iterable[str], variables: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="warm-")
        self.path = Path(self._folder.name) / "python3"
        address = str(self.path.with_name("socket"))
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.bind(address)
        # Whoever asks before the server has imported everything waits for its answer.
        self._server.listen(64)
        self.path.write_text(CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
        self.path.chmod(0o755)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_python", str(self._server.fileno()), *modules],
            cwd=ROOT,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            pass_fds=[self._server.fileno()],
        )
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._folder.cleanup()


def main() -> None:
    """Serve, or be the program that was asked for."""
    number, *modules = sys.argv[1:]
    preload(modules)
    serve(socket.socket(fileno=int(number)))


if __name__ == "__main__":
    main()
