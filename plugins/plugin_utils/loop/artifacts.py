# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of ended cycles: the line about how each ended, and which folders are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.runner_artifacts import (
    FAILURES,
    complaint,
    runner_events,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings

LONGEST = 400
"""Characters of a line for people."""
LONGEST_SUMMARY = 4000
SHOWN = 10
"""Most failures, problems and waits in the closing line. The cycle's own lines have all of them."""
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class ClosingLine:
    """The text for the journal at the end of a cycle. *troubled*: the cycle succeeded, but reports problems."""

    text: str = ""
    troubled: bool = False


def closing_line(folder: Path, *, well: bool) -> ClosingLine:
    """Return the summary of the module, or else the last text of a debug task, or why the cycle failed; "" for none."""
    spoken = ClosingLine()
    for event in runner_events(folder / "job_events"):
        data = event.get("event_data") or {}
        result = data.get("res") or {}
        message = result.get("msg") if isinstance(result, dict) else None
        failed = event.get("event") in FAILURES
        if failed and not data.get("ignore_errors") and not well:
            return ClosingLine(_line(message or event.get("stdout") or "a task failed"))
        if well and event.get("event") == "runner_on_ok":
            summary = result.get("summary") if isinstance(result, dict) else None
            if isinstance(summary, dict) and "done" in summary:
                return _of_summary(summary)
            if not spoken.text and _is_debug(data) and isinstance(message, str):
                spoken = ClosingLine(_line(message))
    if well:
        return spoken
    runner_log = folder.parent.parent / "runner.log"
    return ClosingLine(_line(complaint(folder / "stdout", folder / "stderr", runner_log)))


def _of_summary(summary: dict[str, Any]) -> ClosingLine:
    """Return what was done, what failed, what is wrong and what waits, at most SHOWN of each."""
    parts = [str(summary["done"])]
    for name in ("failed", "wrong", "waits"):
        told = [str(text) for text in summary.get(name) or ()]
        parts += told[:SHOWN] + ([f"{len(told) - SHOWN} more like this"] if len(told) > SHOWN else [])
    return ClosingLine(_line("; ".join(parts), LONGEST_SUMMARY), bool(summary.get("failed") or summary.get("wrong")))


def _is_debug(data: dict[str, Any]) -> bool:
    return str(data.get("resolved_action") or data.get("task_action", "")).rsplit(".", 1)[-1] == "debug"


def _line(text: object, longest: int = LONGEST) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


@dataclass(frozen=True)
class Kept:
    """The folder of an ended cycle."""

    number: int
    files: int
    size: int


class Archive:
    """The folders of the cycles, named by their numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[int, Kept] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in self._numbers():
            self._kept[number] = measure(number, self.path(number))

    def path(self, number: int) -> Path:
        """Return the folder of a cycle."""
        return self.folder / f"{number:06d}"

    def fresh(self) -> int:
        """Return the next free number."""
        return max(self._numbers(), default=0) + 1

    def close(self, number: int, settings: Settings, busy: Collection[int]) -> None:
        """Remove the temporary files of an ended cycle, and the folders of cycles that exceed the settings' bounds.

        :param busy: cycles that still use their folders.
        """
        path = self.path(number)
        for name in ("tmp", "env", "project", "control", "heart", "lines"):
            _remove(path / name)
        for item in path.glob("artifacts/*/fact_cache"):
            _remove(item)
        self._kept[number] = measure(number, path)
        self.prune(settings, busy)

    def prune(self, settings: Settings, busy: Collection[int]) -> None:
        """Remove the oldest folders until the others are within all bounds."""
        for number in surplus([kept for kept in self._kept.values() if kept.number not in busy], settings):
            _remove(self.path(number))
            del self._kept[number]

    def _numbers(self) -> list[int]:
        return [int(entry.name) for entry in os.scandir(self.folder) if entry.name.isdigit() and entry.is_dir()]


def surplus(kept: Collection[Kept], settings: Settings) -> list[int]:
    """Return the numbers of the folders to remove, oldest first."""
    files = size = cycles = 0
    removed = []
    for item in sorted(kept, key=lambda item: item.number, reverse=True):
        cycles, files, size = cycles + 1, files + item.files, size + item.size
        if cycles > settings.keep_cycles or files > settings.keep_files or size > settings.keep_mb * MEBIBYTE:
            removed.append(item.number)
    return sorted(removed)


def measure(number: int, path: Path) -> Kept:
    """Count the files below a folder, and their bytes on disk."""
    files = size = 0
    for folder, _folders, names in os.walk(path):
        for name in names:
            files += 1
            try:
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                continue
    return Kept(number, files, size)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
