# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo says: numbered steps with their times, indented output, tables."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

INDENT = "    "
END_SECONDS = 5.0


class StepFailed(Exception):
    """A step of the demo did not go as it should; the text says how."""


class Screen:
    """Writes to standard output; what commands say in full goes to log files.

    :param logs: folder of the log files.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._began = time.monotonic()
        self._number = 0
        self._started: list[subprocess.Popen[str]] = []
        self._shown: dict[str, int] = {}
        """How much of each log was read."""

    def close(self) -> None:
        """End whatever was started and still runs."""
        for process in self._started:
            process.terminate()
        for process in self._started:
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A numbered heading; the time that the step took follows at its end."""
        self._number += 1
        self._out(f"\n{self._number}. {title}")
        began = time.monotonic()
        yield
        self._out(f"{INDENT}({time.monotonic() - began:.1f} s)")

    def say(self, *lines: str) -> None:
        """Indented lines."""
        for line in lines:
            self._out(f"{INDENT}{line}")

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns as wide as they need to be."""
        texts = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
        for row in [list(heads), ["-" * width for width in widths], *texts]:
            self.say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def end(self, text: str) -> None:
        """The last line."""
        self._out(f"\n{text} ({time.monotonic() - self._began:.0f} s in all)")

    def start(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> subprocess.Popen[str]:
        """Start a command whose output goes to its log."""
        with (self._logs / f"{name}.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        self._started.append(process)
        return process

    def follow(
        self,
        name: str,
        process: subprocess.Popen[str],
        show: str,
        timeout: float,
        beside: Sequence[str] = (),
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Show of each new line of a started command what *show* matches, as it comes, until the command ends.

        :param beside: names of other commands whose matching lines are shown meanwhile.
        :param until: what is waited for, where that is not the end of the command.
        :raises StepFailed: it failed or took longer than *timeout* seconds.
        """
        pattern = re.compile(show)
        limit = time.monotonic() + timeout
        while True:
            over = process.poll() is not None or until()
            for one in (name, *beside):
                self.say(*(found[0] for line in self._new_lines(one) if (found := pattern.search(line.rstrip()))))
            if over:
                break
            if time.monotonic() > limit:
                raise StepFailed(f"{name} took longer than {timeout:g} s; see {self._logs / name}.log")
            time.sleep(0.1)
        self.check(name, process)

    def _new_lines(self, name: str) -> list[str]:
        """Whole lines that were added to a log since the last look."""
        with (self._logs / f"{name}.log").open("rb") as log:
            log.seek(self._shown.get(name, 0))
            whole = log.read().rpartition(b"\n")[0]
        if not whole:
            return []
        self._shown[name] = self._shown.get(name, 0) + len(whole) + 1
        return whole.decode(errors="replace").split("\n")

    def check(self, name: str, process: subprocess.Popen[str]) -> None:
        """Raise StepFailed with the end of its log when an ended command failed."""
        if process.returncode:
            path = self._logs / f"{name}.log"
            tail = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-15:]
            raise StepFailed(f"{name} ended with {process.returncode}; the end of {path}:\n" + "\n".join(tail))

    @staticmethod
    def _out(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
