# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports modules once, and forks a process for each program or command that it is asked for.

``python -m tests.support.warm_server LISTENING END PYTHON MODULE ...``: numbers of the socket on which it is asked and
of the one whose other end is closed when it is no longer needed; what programs find as ``sys.executable``; what to
import. Used by :mod:`tests.support.warm_python` and :mod:`tests.support.warm_ansible`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import random
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from types import CodeType, FrameType

LONGEST = 1 << 17
"""Bytes of a request; the environment is most of it."""


def preload(modules: list[str]) -> None:
    """Import modules with all that they import; one of Ansible's modules has to run as a program later."""
    for name in modules:
        importlib.import_module(name)
        if ".plugins.modules." in name:
            # Python warns when a program is run that has been imported.
            del sys.modules[name]
    gc.collect()
    gc.freeze()


def program(words: list[str]) -> tuple[CodeType | None, list[str]]:
    """What standard input has when no words are given, as Ansible does with pipelining; None for a file."""
    if words:
        return None, words
    # It names no file, as in an interpreter that reads its program from there.
    return compile(sys.stdin.read(), "<stdin>", "exec"), [""]


def run_program(words: list[str]) -> None:
    """Do what the interpreter does with *words*."""
    code, sys.argv = program(words)
    if code is None:
        sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
        runpy.run_path(words[0], run_name="__main__")
    else:
        main = sys.modules["__main__"] = type(sys)("__main__")
        exec(code, main.__dict__)


def run_command(name: str, words: list[str]) -> None:
    """Do what a command of Ansible does that has been imported, in the environment of whoever asks."""
    # It was imported in another environment; what depends on it is read anew, the folder for this process's files, too.
    constants = sys.modules["ansible.constants"]
    atexit.unregister(sys.modules["ansible.config.manager"].cleanup_tmp_file)
    for setting in constants.config.get_configuration_definitions():
        setattr(constants, setting, constants.config.get_config_value(setting, variables=vars(constants)))
    sys.argv = [name, *words]
    sys.exit(sys.modules[f"ansible.cli.{name.removeprefix('ansible-')}"].main())


def status_of(work: Callable[[], None]) -> int:
    """Run something, and return the exit status that it would have as a process of its own."""
    try:
        work()
    except SystemExit as end:
        if isinstance(end.code, int) or end.code is None:
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def be_asked(client: socket.socket, python: str) -> None:
    """In the process that was forked: do what the other end asks for, and tell it the process id and the status."""
    text, files, _flags, _unused = socket.recv_fds(client, LONGEST, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    command, words, folder, variables = marshal.loads(text)
    me = os.getpid()
    client.sendall(me.to_bytes(4, sys.byteorder))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.executable = python
    random.seed()
    status = status_of(lambda: run_command(command, words) if command else run_program(words))
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # A program may have forked, and both come here.
    if os.getpid() == me:
        client.sendall((status & 0xFF).to_bytes(4, sys.byteorder))
    os._exit(0)


def reap(_number: int, _frame: FrameType | None) -> None:
    """Forget the children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(listening: socket.socket, end: socket.socket, python: str) -> None:
    """Answer until the other side of *end* is closed."""
    signal.signal(signal.SIGCHLD, reap)
    while not select.select([end], [], [], 0)[0]:
        if listening not in select.select([listening, end], [], [])[0]:
            continue
        client, _address = listening.accept()
        if os.fork():
            client.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listening.close()
        end.close()
        be_asked(client, python)


def main() -> None:
    """Serve, or be what was asked for."""
    listening, end, python, *modules = sys.argv[1:]
    preload(modules)
    serve(socket.socket(fileno=int(listening)), socket.socket(fileno=int(end)), python)


if __name__ == "__main__":
    main()
