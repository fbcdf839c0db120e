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

from tests.support.warm_tasks import run_here

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1 << 17
"""Bytes of a request; the environment is most of it."""

READ = ("action", "become", "cache", "callback", "connection", "inventory", "lookup", "shell", "strategy", "vars")
"""Kinds of plugins that Ansible reads for most commands."""

OF_COLLECTIONS = "ansible_collections."
SEARCHED = "ANSIBLE_COLLECTIONS_PATH"
"""The variable with the places of collections."""

BESIDE = ("collections", "library", "module_utils")
"""Folders in which Ansible finds modules, and what they import, when they are beside a playbook."""


def preload(modules: list[str]) -> None:
    """Import modules with all that they import; one of Ansible's modules has to run as a program later."""
    for name in modules:
        if name.startswith(OF_COLLECTIONS) and "ansible.plugins.loader" in sys.modules:
            find_collections()
        importlib.import_module(name)
        if ".plugins.modules." in name:
            # Python warns when a program is run that has been imported.
            del sys.modules[name]
    if "ansible.plugins.loader" in sys.modules:
        read_plugins(Path(sys.modules["ansible"].__file__ or ""))
    if "ansible.module_utils.basic" in sys.modules:
        use_basics()
    gc.collect()
    gc.freeze()


def find_collections() -> None:
    """Have modules of collections imported as Ansible imports them: it has a finder of its own."""
    finder: Any = sys.modules["ansible.utils.collection_loader._collection_finder"]
    if not finder.AnsibleCollectionConfig.collection_finder:
        sys.modules["ansible.plugins.loader"]._configure_collection_loader()


def forget_collections(modules: bool) -> None:
    """Let a command find collections anew.

    :param modules: whether it has others than those that were imported from the collections here.
    """
    sys.modules["ansible.utils.collection_loader._collection_finder"]._AnsibleCollectionFinder._remove()
    for name in [*sys.modules] if modules else []:
        if f"{name}.".startswith(OF_COLLECTIONS):
            del sys.modules[name]


def use_basics() -> None:
    """Do once what each module does: Python remembers for each abstract class which classes are of its kind."""
    parameters = sys.modules["ansible.module_utils.common.parameters"]
    parameters.remove_values({"a": ["b", 1, 1.0, True, None, {}, (), set()]}, ["hidden"])
    validator = sys.modules["ansible.module_utils.common.arg_spec"].ArgumentSpecValidator
    kinds = ("str", "int", "float", "bool", "list", "dict", "path", "raw")
    given = {"str": "a", "int": 1, "float": 1.0, "bool": True, "list": ["a"], "dict": {"a": 1}, "path": "/", "raw": 1}
    validator({kind: {"type": kind} for kind in kinds}).validate(given)


def read_plugins(ansible: Path) -> None:
    """Have Ansible read what each command reads anew: the documentation of its plugins, and its redirections."""
    loader = sys.modules["ansible.plugins.loader"]
    config = sys.modules["ansible.constants"].config
    for kind in READ:
        plugins = getattr(loader, f"{kind}_loader")
        for _plugin in plugins.all(class_only=True):
            pass
        for path, module in plugins._module_cache.items():
            for name in (Path(path).stem, f"ansible.builtin.{Path(path).stem}"):
                plugins._load_config_defs(name, module, path)
                # Otherwise documentation without options is read again and again.
                if not config.has_configuration_definition(kind, name):
                    config.initialize_plugin_configuration_definitions(kind, name, {})
    for kind in ("filter", "test"):
        getattr(loader, f"{kind}_loader")._ensure_non_collection_wrappers()
    finder: Any = sys.modules["ansible.utils.collection_loader._collection_finder"]
    finder._meta_yml_to_dict = functools.cache(finder._meta_yml_to_dict)
    for collection, path in (
        ("ansible.builtin", ansible.parent / "config" / "ansible_builtin_runtime.yml"),
        ("stackci.nodepool", ROOT / "meta" / "runtime.yml"),
    ):
        finder._meta_yml_to_dict(path.read_bytes(), (collection, "runtime.yml"))


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
    return folder / places.hexdigest() if (places := places_of_checkout(words)) else None


def places_of_checkout(words: list[str]) -> Any:
    """A digest of the places of a command's collections; None when one is not in the checkout."""
    beside = {Path.cwd(), *(Path.cwd().joinpath(word).parent for word in words if os.path.isfile(word))}
    own = [path / name for path in beside for name in BESIDE if (path / name).exists()]
    paths = [*map(Path, os.environ.get(SEARCHED, "/").split(":")), *own]
    if "ANSIBLE_MODULE_UTILS" in os.environ or not all(path.resolve().is_relative_to(ROOT) for path in paths):
        return None
    return hashlib.sha256("\n".join(map(str, paths)).encode())


def keep_packed(folder: Path, own: str) -> None:
    """Have Ansible keep packed modules in a folder, not among its own files."""
    folder.mkdir(parents=True, exist_ok=True)
    os.symlink(folder, os.path.join(own, "ansiballz_cache"))


def keep_templates(folder: Path) -> None:
    """Have Ansible keep compiled templates and conditions in a folder, as Jinja can for templates that are files.

    Each play compiles them anew, a third of what a task costs.
    """
    bits: Any = sys.modules["ansible._internal._templating._jinja_bits"]
    expression: Any = sys.modules["jinja2.environment"].TemplateExpression
    kind = bits.AnsibleEnvironment
    compiling: Callable[..., CodeType] = kind.compile
    expressing: Callable[..., Any] = kind.compile_expression
    known: dict[str, CodeType] = {}
    latest = threading.local()

    def name_for(self: Any, source: str, *more: object) -> str:
        settings = [repr(getattr(self, setting)) for setting in bits._TEMPLATE_OVERRIDE_FIELD_NAMES]
        escaping = bits._TemplateCompileContext.current(optional=True)
        about = [str(source), settings, type(self).__name__, bool(escaping and escaping.escape_backslashes), *more]
        return hashlib.sha256(repr(about).encode("utf-8", "surrogateescape")).hexdigest()

    def found(name: str) -> CodeType | None:
        if name not in known:
            with contextlib.suppress(FileNotFoundError), (folder / name).open("rb") as file:
                known[name] = cast("CodeType", marshal.load(file))
        return known.get(name)

    def keep(name: str, code: CodeType) -> None:
        known[name] = code
        part = folder / f"{name}.{os.getpid()}"
        with part.open("wb") as written:
            marshal.dump(code, written)
        part.replace(folder / name)

    def compiled(self: Any, source: Any, *more: Any, **named: Any) -> CodeType:
        if not isinstance(source, str) or more or named:
            latest.code = compiling(self, source, *more, **named)
            return cast("CodeType", latest.code)
        name = name_for(self, source)
        if (code := found(name)) is None:
            keep(name, code := compiling(self, source))
        return code

    def expressed(self: Any, source: str, undefined_to_none: bool = True) -> Any:
        name = name_for(self, source, "expression")
        if code := found(name):
            template = self.template_class.from_code(self, code, self.make_globals(None), None)
            return expression(template, undefined_to_none)
        made = expressing(self, source, undefined_to_none)
        keep(name, latest.code)
        return made

    folder.mkdir(parents=True, exist_ok=True)
    kind.compile, kind.compile_expression = compiled, expressed


def run_command(name: str, words: list[str], shared: Path | None, searched: str | None) -> None:
    """Do what a command of Ansible does that has been imported, in the environment of whoever asks.

    :param shared: a folder for what commands share.
    :param searched: where the server has searched for collections.
    """
    forget_collections(os.environ.get(SEARCHED) != searched or not places_of_checkout(words))
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
    run_here()
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
    searched = os.environ.get(SEARCHED)
    if mask is not None:
        os.umask(mask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    sys.executable = python
    random.seed()
    end_as_program(lambda: run_command(command, words, shared, searched) if command else run_program(words))


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
        """A client asks, has got a signal, or is gone."""
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
        if pid := self._clients[client]:
            for number in text:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
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
