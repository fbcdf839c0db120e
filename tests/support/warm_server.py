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
import functools
import gc
import hashlib
import importlib
import io
import marshal
import os
import random
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, cast

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 17
"""Bytes of a request; the environment is most of it."""

READ = ("action", "become", "cache", "callback", "connection", "inventory", "lookup", "shell", "strategy")
"""Kinds of plugins that Ansible reads for most commands."""

BESIDE = ("collections", "library", "module_utils")
"""Folders in which Ansible finds modules, and what they import, when they are beside a playbook."""


def preload(modules: list[str]) -> None:
    """Import modules with all that they import; one of Ansible's modules has to run as a program later."""
    for name in modules:
        importlib.import_module(name)
        if ".plugins.modules." in name:
            # Python warns when a program is run that has been imported.
            del sys.modules[name]
    if "ansible.plugins.loader" in sys.modules:
        read_plugins(Path(sys.modules["ansible"].__file__ or ""))
    gc.collect()
    gc.freeze()


def read_plugins(ansible: Path) -> None:
    """Have Ansible read what each command reads anew: the documentation of its plugins, and its redirections."""
    loader = sys.modules["ansible.plugins.loader"]
    for kind in READ:
        for _plugin in getattr(loader, f"{kind}_loader").all(class_only=True):
            pass
    for kind in ("filter", "test"):
        getattr(loader, f"{kind}_loader")._ensure_non_collection_wrappers()
    finder: Any = sys.modules["ansible.utils.collection_loader._collection_finder"]
    finder._meta_yml_to_dict = functools.cache(finder._meta_yml_to_dict)
    text = (ansible.parent / "config" / "ansible_builtin_runtime.yml").read_bytes()
    finder._meta_yml_to_dict(text, ("ansible.builtin", "runtime.yml"))


def run_program(words: list[str]) -> None:
    """Do what the interpreter does with *words*: it runs a file, or without any what standard input has.

    The latter is what Ansible does with pipelining. The workers of pytest are text among the words.
    """
    main = sys.modules["__main__"] = type(sys)("__main__")
    if words[:2] == ["-u", "-c"]:
        exec(words[2], main.__dict__)
        return
    sys.argv = words or [""]
    if words:
        main.__file__ = words[0]
        sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
        with open(words[0], "rb") as file:
            code = compile(file.read(), words[0], "exec")
    else:
        code = compile(sys.stdin.read(), "<stdin>", "exec")
    exec(code, main.__dict__)


def shared_by(words: list[str], folder: Path) -> Path | None:
    """Where a command finds and leaves the modules that Ansible packs and the templates that it compiles.

    It shares them with those that have the same collections, all in the checkout, for tests change others. Whoever does
    not change others names a folder in SHARE_PACKED.
    """
    if named := os.environ.get("SHARE_PACKED"):
        return Path(named)
    beside = {Path.cwd(), *(Path.cwd().joinpath(word).parent for word in words if os.path.isfile(word))}
    own = [path / name for path in beside for name in BESIDE if (path / name).exists()]
    paths = [*map(Path, os.environ.get("ANSIBLE_COLLECTIONS_PATH", "/").split(":")), *own]
    if "ANSIBLE_MODULE_UTILS" in os.environ or not all(path.resolve().is_relative_to(ROOT) for path in paths):
        return None
    return folder / hashlib.sha256("\n".join(map(str, paths)).encode()).hexdigest()


def keep_packed(folder: Path, own: str) -> None:
    """Have Ansible keep packed modules in a folder, not among its own files."""
    folder.mkdir(parents=True, exist_ok=True)
    os.symlink(folder, os.path.join(own, "ansiballz_cache"))


def keep_templates(folder: Path) -> None:
    """Have Ansible keep compiled templates in a folder, as Jinja can for those that are files.

    Each task of a play runs in a process of its own and compiles the templates anew, a third of what a task costs.
    """
    bits: Any = sys.modules["ansible._internal._templating._jinja_bits"]
    kind = bits.AnsibleEnvironment
    compiling: Callable[..., CodeType] = kind.compile

    def compiled(self: Any, source: Any, *more: Any, **named: Any) -> CodeType:
        if not isinstance(source, str) or more or named:
            return compiling(self, source, *more, **named)
        settings = [repr(getattr(self, setting)) for setting in bits._TEMPLATE_OVERRIDE_FIELD_NAMES]
        escaping = bits._TemplateCompileContext.current(optional=True)
        about = [str(source), settings, type(self).__name__, bool(escaping and escaping.escape_backslashes)]
        path = folder / hashlib.sha256(repr(about).encode("utf-8", "surrogateescape")).hexdigest()
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            return cast("CodeType", marshal.load(file))
        code = compiling(self, source)
        part = path.with_suffix(f".{os.getpid()}")
        with part.open("wb") as written:
            marshal.dump(code, written)
        part.replace(path)
        return code

    folder.mkdir(parents=True, exist_ok=True)
    kind.compile = compiled


def run_command(name: str, words: list[str], shared: Path | None) -> None:
    """Do what a command of Ansible does that has been imported, in the environment of whoever asks.

    :param shared: a folder for what commands share.
    """
    # It was imported in another environment; what depends on it is read anew, the folder for this process's files, too.
    constants = sys.modules["ansible.constants"]
    callbacks = sys.modules["ansible.plugins.loader"].callback_loader
    atexit.unregister(sys.modules["ansible.config.manager"].cleanup_tmp_file)
    for setting in constants.config.get_configuration_definitions():
        setattr(constants, setting, constants.config.get_config_value(setting, variables=vars(constants)))
    for path in set(constants.DEFAULT_CALLBACK_PLUGIN_PATH or ()) - set(callbacks.config or ()):
        callbacks.add_directory(path)
    if shared and (folder := shared_by(words, shared)):
        keep_packed(folder / "packed", constants.DEFAULT_LOCAL_TMP)
        keep_templates(folder / "templates")
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


def end_as_program(work: Callable[[], None]) -> NoReturn:
    """Run something, and end as a program does, but leave to the kernel what was imported before the fork.

    Python would free it object by object, and the kernel copy each page of it before.
    """
    status = status_of(work)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    # A reader may have gone; Python would complain of it in the same way.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        status = 120
    os._exit(status & 0xFF)


def be_asked(text: bytes, files: list[int], python: str, shared: Path | None) -> NoReturn:
    """In the process that was forked: do what a client asks for with its standard files, and end as it would."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    command, words, folder, variables, mask = marshal.loads(text)
    if mask is not None:
        os.umask(mask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    sys.executable = python
    random.seed()
    end_as_program(lambda: run_command(command, words, shared) if command else run_program(words))


class Server:
    """Forks a process for each client, and tells the client its process id and, later, how it has ended.

    A client that is killed takes its process with it.

    :param end: can be read when the server is no longer needed.
    :param shared: a folder for what commands of Ansible share.
    """

    def __init__(
        self, listening: socket.socket, end: socket.socket | io.FileIO, python: str, shared: Path | None = None
    ) -> None:
        self._listening = listening
        self._end = end
        self._python = python
        self._shared = shared
        self._clients: dict[socket.socket, int] = {}
        """The process of each; 0 before it has asked."""
        self._processes: dict[int, socket.socket] = {}
        """The client of each, by the number of a file that can be read as soon as the process has ended."""

    def serve(self) -> None:
        """Answer until *end* can be read."""
        while True:
            files: list[socket.socket | io.FileIO | int] = [
                self._end,
                self._listening,
                *self._processes,
                *self._clients,
            ]
            ready = select.select(files, [], [])[0]
            if self._end in ready:
                return
            for file in ready:
                if file is self._listening:
                    self._clients[self._listening.accept()[0]] = 0
                elif isinstance(file, int):
                    self._ended(file)
                elif isinstance(file, socket.socket) and file in self._clients:
                    self._said(file)

    def _said(self, client: socket.socket) -> None:
        """A client asks, or is gone."""
        text = b""
        files: list[int] = []
        with contextlib.suppress(OSError):
            text, files, _flags, _unused = socket.recv_fds(client, LONGEST, 3)
        if not text:
            pid = self._clients.pop(client)
            client.close()
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            return
        pid = os.fork()
        if not pid:
            for mine in (self._listening, self._end, *self._clients):
                mine.close()
            be_asked(text, files, self._python, self._shared)
        for number in files:
            os.close(number)
        # What it starts is killed with it.
        os.setpgid(pid, pid)
        self._clients[client] = pid
        self._processes[os.pidfd_open(pid)] = client
        with contextlib.suppress(OSError):
            client.sendall(pid.to_bytes(4, sys.byteorder))

    def _ended(self, file: int) -> None:
        """A process has ended."""
        client = self._processes.pop(file)
        ended = os.waitid(os.P_PIDFD, file, os.WEXITED)
        os.close(file)
        if self._clients.pop(client, None) and ended:
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            with contextlib.suppress(OSError):
                client.sendall(code.to_bytes(4, sys.byteorder, signed=True))
            client.close()


def main() -> None:
    """Serve, or be what was asked for."""
    listening, end, python, *modules = sys.argv[1:]
    preload(modules)
    asked = socket.socket(fileno=int(listening))
    Server(asked, socket.socket(fileno=int(end)), python, Path(asked.getsockname()).with_name("shared")).serve()


if __name__ == "__main__":
    main()
