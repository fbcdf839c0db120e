# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo says: numbered steps with their times, indented output, tables."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
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
        self, name: str, process: subprocess.Popen[str], show: str, timeout: float, beside: Sequence[str] = ()
    ) -> None:
        """Show of each line of a started command what *show* matches, as it comes, until the command ends.

        :param beside: names of other commands whose matching lines are shown meanwhile.
        :raises StepFailed: it failed or took longer than *timeout* seconds.
        """
        pattern = re.compile(show)
        logs = [(self._logs / f"{one}.log").open(encoding="utf-8", errors="replace") for one in (name, *beside)]
        rests = [""] * len(logs)
        limit = time.monotonic() + timeout
        try:
            while True:
                over = process.poll() is not None
                for place, log in enumerate(logs):
                    *lines, rests[place] = (rests[place] + log.read()).split("\n")
                    self.say(*(found[0] for line in lines if (found := pattern.search(line.rstrip()))))
                if over:
                    break
                if time.monotonic() > limit:
                    raise StepFailed(f"{name} took longer than {timeout:g} s; see {self._logs / name}.log")
                time.sleep(0.1)
        finally:
            for log in logs:
                log.close()
        self.check(name, process)

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
