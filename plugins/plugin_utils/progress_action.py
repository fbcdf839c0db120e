# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the action plugins that show the progress of their module.

The module appends lines to a file (:mod:`runtime.progress`). A thread of the worker process shows them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from ansible import constants as C  # noqa: N812

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import amount
from ansible_collections.stackci.nodepool.plugins.plugin_utils.in_place import OFF, InPlaceAction
from ansible_collections.stackci.nodepool.plugins.plugin_utils.shown_lines import show_lines

BURST = 20
"""Number of lines of a task and host that are shown at once."""

REFILL = 2.0
"""Number of further lines that may be shown for each second."""

LOOK = 0.2
"""Seconds between two reads of the file."""

SWITCH = "nodepool_progress"
"""Ansible variable; false turns the lines off."""

MACHINE_READABLE = ("json", "jsonl")
"""Callbacks whose output programs read: further lines would break it."""


class Tail:
    """A reader of the lines that were added to a file since the last read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._place = 0
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the texts of the complete new lines, in their order."""
        try:
            with open(self._path, "rb") as file:
                file.seek(self._place)
                data = file.read()
        except OSError:
            return []
        self._place += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        found = []
        for line in whole:
            try:
                found.append(str(json.loads(line)["line"]))
            except (ValueError, KeyError, TypeError):
                continue
        return found


class Ticker:
    """A display of lines at a limited rate; it also shows how many lines it left out.

    A token bucket: BURST lines at once, and REFILL more for each second. Lines beyond that are left out, and their
    number is shown before the next line or at the end. A line that repeats the one before it is not shown.
    """

    def __init__(
        self,
        lines: Callable[[], list[str]],
        show: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lines = lines
        self._show = show
        self._clock = clock
        self._room = float(BURST)
        self._looked = clock()
        self._last: str | None = None
        self._left_out: list[str] = []

    def tick(self, *, last: bool = False) -> None:
        """Read the file and show the lines that the rate allows; *last*: True: show the newest line in any case."""
        now = self._clock()
        self._room = min(float(BURST), self._room + (now - self._looked) * REFILL)
        self._looked = now
        for line in self._lines():
            if line == self._last:
                continue
            self._last = line
            if self._room >= 1.0:
                self._room -= 1.0
                self._tell_left_out()
                self._show(line)
            else:
                self._left_out.append(line)
        if self._left_out and (last or self._room >= 1.0):
            # No line followed the newest one, so it is shown and not only counted.
            self._room = max(0.0, self._room - 1.0)
            newest = self._left_out.pop()
            self._tell_left_out()
            self._show(newest)

    def _tell_left_out(self) -> None:
        if self._left_out:
            count = len(self._left_out)
            self._show(f"… {amount(count, 'more line')}")
            self._left_out.clear()


def start_deaf(thread: threading.Thread) -> None:
    """Start a thread with all signals blocked.

    The kernel delivers a signal to any thread, but Python acts on it in the main thread only. While the main thread
    waits for the module, a Ctrl-C that another thread has received would have no effect until the module ends.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ProgressAction(InPlaceAction):
    """An action plugin that runs the module of the same name and shows its progress when that is possible."""

    def work(self, task_vars: dict[str, Any], wrap_async: bool) -> dict[str, Any]:
        """Execute the module and return its result."""
        self._host = str(task_vars.get("inventory_hostname", ""))
        if self._shows_progress(task_vars, wrap_async):
            return self._run_with_progress(task_vars)
        return super().work(task_vars, wrap_async)

    def _shows_progress(self, task_vars: dict[str, Any], wrap_async: bool) -> bool:
        """Return True when the module runs on the controller, where the file is, and the task allows lines."""
        switch = str(task_vars.get(SWITCH, True)).lower()
        return (
            self._connection.transport == "local"
            and not wrap_async
            and not self._task.async_val
            and not self._task.no_log
            and "progress_file" not in self._task.args
            and str(C.DEFAULT_STDOUT_CALLBACK).rsplit(".", 1)[-1] not in MACHINE_READABLE
            and switch not in OFF
        )

    def _run_with_progress(self, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        folder = tempfile.mkdtemp(prefix="nodepool-progress-")
        path = os.path.join(folder, "lines")
        ticker = Ticker(Tail(path).lines, self._show)
        over = threading.Event()
        thread = threading.Thread(target=self._follow, args=(ticker, over), daemon=True)
        start_deaf(thread)
        try:
            arguments = {**self._task.args, "progress_file": path}
            returned: dict[str, Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
            return returned
        finally:
            over.set()
            thread.join(5)
            shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _follow(ticker: Ticker, over: threading.Event) -> None:
        while not over.wait(LOOK):
            ticker.tick()
        ticker.tick(last=True)

    def _show(self, line: str) -> None:
        name = self._task.action.rsplit(".", 1)[-1]
        host = "" if self._host in ("", "localhost", "127.0.0.1") else f" {self._host}"
        show_lines([f"[{name}{host}] {line}"])
