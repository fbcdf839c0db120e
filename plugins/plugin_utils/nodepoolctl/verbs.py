# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a verb: calls its function, shows the result, and chooses the exit code."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    NodepoolError,
    OnlyLastState,
    PartlyFailed,
    Stopped,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import failure

from . import commands
from .calling import call, stderr
from .endings import DONE, SIGNALLED, Interrupted, exit_code, interruptible
from .parser import ID, JSON, PROGRAM, SSH_FAILED, TABLE
from .shapes import Command
from .tables import decided_lines, id_lines, json_text, table_text

CLEAR = "\033[H\033[2J"
"""Cursor home, erase the screen (ECMA-48)."""
SHORTEST = 1.0
"""Least seconds between two readings."""


def run(given: argparse.Namespace, call: Callable[..., dict[str, Any]] = call) -> int:
    """Run the verb with these arguments; return the exit code.

    :param call: see :func:`.calling.call`.
    """
    verb = Verb(given, call)
    try:
        with interruptible():
            return verb.run()
    except Interrupted as signalled:
        return SIGNALLED + signalled.number


class Verb:
    """One run of a verb."""

    def __init__(self, given: argparse.Namespace, call: Callable[..., dict[str, Any]]) -> None:
        self.command: Command = commands.BY_NAME[given.verb]
        self.form: str = getattr(given, "output", TABLE)
        self.progress = None if getattr(given, "quiet", False) else _say
        self.options: dict[str, Any] = {**self.command.fixed, **vars(given)}
        self._call = call
        self._told: set[str] = set()

    def run(self) -> int:
        """Do it, show it, and return the exit code."""
        try:
            if self.command.work is None:
                from .connecting import connect

                return connect(self.options, self.ask)
            if self.command.name == "lease":
                return self._lease()
            if self.command.name == "status" and self.options.get("watch", 0) > 0 and self.form == TABLE:
                self._watch(max(SHORTEST, self.options["watch"]))
            return self._once()
        except NodepoolError as error:
            self._fail(error)
            return SSH_FAILED if self.command.work is None else exit_code(error)

    def ask(self, work: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function with the settings of this run and further options."""
        return self._call(work, {**self.options, **options}, self._warn, self.progress)

    def _once(self) -> int:
        work, options = self.command.work, dict(self.options)
        if self.command.name == "why" and self.form == JSON:
            # The lines for people are no data: the modules of requests, nodes and leases have the facts.
            work, names = commands.facts_about(options["id"])
            options[names] = [options["id"]]
        if work is commands.STATUS:
            options.setdefault("width", shutil.get_terminal_size().columns)
        result = self.ask(work, options)
        for notice in result.get("notices", ()):
            self._warn(notice)
        self._show(result)
        return DONE

    def _lease(self) -> int:
        """Lease nodes, and release them when a signal asks for the end."""
        why = "interrupted"
        try:
            return self._once()
        except Interrupted as signalled:
            number = signalled.number
        except Stopped as stopped:  # the launcher in this process has taken the signal, or missed who started it
            number = signal.SIGINT
            if stopped.by_controller:
                why = "the process that started this command has ended"
        name = self.options["name"]
        stderr(f"{why}: lease {name} is being released; interrupt again to keep it")
        try:
            self.ask(commands.LEASE, {"state": "absent"})
        except (Interrupted, NodepoolError) as problem:
            why = f" ({problem})" if isinstance(problem, NodepoolError) else ""
            stderr(f"lease {name} stays until it expires{why}; to release it: {PROGRAM} release {name}")
        else:
            stderr(f"lease {name} was released")
        return SIGNALLED + number

    def _watch(self, seconds: float) -> None:
        """Show the screen again and again."""
        first = True
        while True:
            lines = self._screen(first)
            # A log or a pipe keeps all screens, one below the other.
            clear = CLEAR if sys.stdout.isatty() else ""
            title = f"{clear}{time.strftime('%H:%M:%S')}, every {seconds:g} s until Ctrl-C"
            print("\n".join([title, *lines]), flush=True)
            first = False
            time.sleep(seconds)

    def _screen(self, first: bool) -> list[str]:
        """Return the lines of the status screen; after the *first* one a failure is shown and does not end the command.

        While ZooKeeper cannot be reached that is the last state, which begins with its age.
        """
        width = self.options.get("width", shutil.get_terminal_size().columns)
        try:
            return list(self.ask(commands.STATUS, {"width": width})["lines"])
        except OnlyLastState as error:
            return list(error.result["lines"])
        except NodepoolError as error:
            if first:
                raise
            shown = error.result.get("lines", ()) if isinstance(error, PartlyFailed) else ()
            return [str(error), *shown]

    def _show(self, result: Mapping[str, Any]) -> None:
        table = self.command.table
        if self.form == JSON:
            print(json_text(result))
        elif self.form == ID and table is not None:
            print("\n".join(id_lines(table, result)))
        elif "lines" in result:
            print("\n".join(result["lines"]))
        elif table is not None:
            print(table_text(table, result, detail=self.options.get("detail", False)))
        else:
            said = self.command.said[0 if result.get("changed") else 1]
            print("\n".join(decided_lines(said, result) if self.command.work == commands.DECIDE else [said]))

    def _fail(self, error: NodepoolError) -> None:
        details = failure(error)
        if self.form == JSON:
            print(json_text(details))
        elif isinstance(error, PartlyFailed):
            self._show(error.result)
        stderr(f"{PROGRAM}: {details['msg']}")

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            stderr(f"warning: {text}")


def _say(line: str) -> None:
    stderr(line)
