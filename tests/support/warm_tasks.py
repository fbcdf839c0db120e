# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the tasks of a play for one host in the process of the play, and asks for the interpreter of modules directly.

Ansible forks a process for each task, which is most of what a task costs that runs no module; where there is but one
host, nothing runs beside it. The interpreter of modules (:class:`tests.support.warm_python.WarmPython`) is started by
two shells. What a task does, and what it returns, is Ansible's own in both cases.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.forked import ForkedProcess

SOON = 0.001
"""Seconds after which a play looks for what a task returned that has ended already: a thread of it reads that."""

FORKED = ("pause", "ansible.builtin.pause", "ansible.legacy.pause")
"""They ask at the terminal, for which they need a process of their own."""

ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
AFTER = ["&&", "sleep", "0"]
"""How Ansible ends each command."""

_asked: set[int] = set()
"""The processes that were asked for and have not ended; each leads a group."""


def run_here() -> None:
    """Have Ansible run the tasks of plays for one host in its own process, and pass signals on to what they run."""
    worker: Any = sys.modules["ansible.executor.process.worker"]
    manager: Any = sys.modules["ansible.executor.task_queue_manager"].TaskQueueManager
    starting: Callable[[Any], None] = worker.WorkerProcess.start
    initializing: Callable[[Any, int], None] = manager._initialize_processes
    signalled: Callable[[Any, int, Any], None] = manager._signal_handler
    constants: Any = sys.modules["ansible.constants"]
    usual = constants.DEFAULT_INTERNAL_POLL_INTERVAL
    alone: set[Any] = set()

    def initialize(self: Any, number: int) -> None:
        alone.clear()
        if number == 1:
            alone.add(self._final_q)
        initializing(self, number)

    def start(self: Any) -> None:
        if self._final_q not in alone or self._task.action in FORKED:
            constants.DEFAULT_INTERNAL_POLL_INTERVAL = usual
            starting(self)
        else:
            constants.DEFAULT_INTERNAL_POLL_INTERVAL = SOON
            work_here(worker, self)

    def pass_on(self: Any, number: int, frame: Any) -> None:
        for pid in _asked:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        if alone and os.getpgrp() == os.getpid():
            signal.signal(number, signal.SIG_IGN)
            os.killpg(0, number)
        signalled(self, number, frame)

    manager._initialize_processes, manager._signal_handler, worker.WorkerProcess.start = initialize, pass_on, start
    sys.modules["ansible.plugins.connection.local"].subprocess = types.SimpleNamespace(  # type: ignore[attr-defined]
        PIPE=subprocess.PIPE, Popen=started
    )


def work_here(worker: Any, process: Any) -> None:
    """Do what the process of a task does. What it changes in the task, it must not change for others."""
    task = process._task = process._task.copy(exclude_tasks=True)
    with worker._task.TaskContext(task):
        returned = worker.TaskExecutor(
            process._host,
            task,
            {**process._task_vars},
            process._play_context,
            process._loader,
            process._shared_loader_obj,
            process._final_q,
            process._variable_manager,
        ).run()
        result = worker._RawTaskResult(
            host=process._host, task=task, return_data=returned, task_fields=task.dump_attrs()
        )
        try:
            process._final_q.send_task_result(result)
        except Exception as problem:
            told = worker.AnsibleError("Task result omitted due to queue send failure.")
            told.__cause__ = problem
            returned = worker._error_utils.result_dict_from_exception(told)
            result = worker._RawTaskResult(host=process._host, task=task, return_data=returned, task_fields={})
            process._final_q.send_task_result(result)


def started(command: str, **options: Any) -> Any:
    """What :class:`subprocess.Popen` is for Ansible's connection to the machine itself."""
    with contextlib.suppress(ValueError):
        if options.get("stdin") == subprocess.PIPE and (found := interpreter(command)):
            return Asked(*found, folder=options["cwd"])
    return subprocess.Popen(command, **options)


def interpreter(command: str) -> tuple[str, list[str], dict[str, str]] | None:
    """The address where a command's interpreter is asked for, its words and variables; None if it is another command.

    :raises ValueError: it cannot be read.
    """
    shell = shlex.split(command)
    if len(shell) != 3 or shell[:2] != ["/bin/sh", "-c"]:
        return None
    words = shlex.split(shell[2])
    variables = {}
    while words and ASSIGNED.match(words[0]):
        name, value = words.pop(0).split("=", 1)
        variables[name] = value
    if not 4 <= len(words) <= 5 or words[-3:] != AFTER or words[1].startswith("-"):
        return None
    place = Path(words[0])
    if place.name != "python3" or not place.with_name("socket").is_socket():
        return None
    return str(place.with_name("socket")), words[1:-3], variables


class Asked:
    """A program that a server runs; what Ansible uses of :class:`subprocess.Popen` has the same names.

    :param address: of the server.
    """

    def __init__(self, address: str, words: Sequence[str], variables: Mapping[str, str], folder: bytes) -> None:
        self.returncode: int | None = None
        self._address = address
        self._words = words
        self._variables = {**os.environ, **variables}
        self._folder = Path(os.fsdecode(folder or os.getcwdb()))

    def communicate(self, data: bytes | None = None) -> tuple[bytes, bytes]:
        """Run it with *data* as its standard input; what it wrote to standard output and to standard error."""
        mask = os.umask(0)
        os.umask(mask)
        output, errors = os.pipe(), os.pipe()
        with open(os.memfd_create("given"), "wb+") as given:
            given.write(data or b"")
            given.seek(0)
            files = given.fileno(), output[1], errors[1]
            try:
                process = ForkedProcess(
                    *(self._address, None, self._words),
                    folder=self._folder,
                    variables=self._variables,
                    files=files,
                    mask=mask,
                )
            finally:
                os.close(output[1])
                os.close(errors[1])
        _asked.add(process.pid)
        said = read_all([output[0], errors[0]])
        code = process.wait()
        _asked.discard(process.pid)
        # As a shell says that a signal has ended something.
        self.returncode = code if code >= 0 else 128 - code
        return said[0], said[1]


def read_all(files: Sequence[int]) -> list[bytes]:
    """What is written to pipes until nobody has them for writing any longer, which closes them here, too."""
    said: dict[int, list[bytes]] = {file: [] for file in files}
    reading = set(files)
    while reading:
        for file in select.select(reading, [], [])[0]:
            if part := os.read(file, 1 << 16):
                said[file].append(part)
            else:
                os.close(file)
                reading.remove(file)
    return [b"".join(parts) for parts in said.values()]
