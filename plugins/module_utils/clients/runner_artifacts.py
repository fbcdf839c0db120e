# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what ansible-runner leaves in its folder of artifacts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EVENTS = 200
"""Most events that are read as a rule."""
LARGEST = 20_000_000
TASK_PASSED = "runner_on_ok"
TASK_FAILURES = ("runner_on_failed", "runner_on_unreachable")
ERROR, STATS = "error", "playbook_on_stats"
FAILURES = (*TASK_FAILURES, ERROR)
_WORDS = ("stderr", "module_stderr", "stdout", "module_stdout", "assertion")
"""Keys of a result with what a task wrote, or which assertion is false, the most telling first."""


def runner_events(folder: Path, *, newest: bool = True, most: int = EVENTS) -> Iterator[dict[str, Any]]:
    """Yield at most *most* events: the latest, newest first; or the first ones in their order."""
    numbered = []
    try:
        for entry in os.scandir(folder):
            number = entry.name.partition("-")[0]
            if number.isdigit() and entry.name.endswith(".json"):
                numbered.append((int(number), entry.path))
    except OSError:
        return
    for _number, path in sorted(numbered, reverse=newest)[:most]:
        try:
            if os.path.getsize(path) <= LARGEST:
                found = json.loads(Path(path).read_text("utf-8"))
                if isinstance(found, dict):
                    yield found
        except (OSError, ValueError):
            continue


def was_killed(folder: Path) -> bool:
    """Return True if ansible-playbook was killed, for instance because the memory of this host was full.

    ansible-runner exits with 0 then, because it has no exit status to pass on; it writes that into its file.
    """
    try:
        return (folder / "rc").read_text("utf-8").strip() == str(None)
    except (OSError, ValueError):
        return False


def said_of_failure(result: Any, shown: str = "") -> str:
    """Return what the result of a failed task says: its message, its exit status, and the last line that it wrote.

    Of a loop that is what the first failed item says.

    :param shown: what Ansible has shown of it, for a result without a message.
    """
    if not isinstance(result, dict):
        return shown or "it failed"
    if "censored" in result:
        return "it failed, and no_log hides why"
    items = result.get("results")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("failed"):
            return f"item {_label(item)}: {said_of_failure({**item, 'results': None})}"
    holds = "failed_when holds" if result.get("failed_when_result") else ""
    texts = [text for name in _WORDS if isinstance(text := result.get(name), str)]
    last = next((lines[-1].strip() for text in texts if (lines := text.strip().splitlines())), "")
    message = str(result.get("msg") or holds or ("" if last else shown) or "it failed")
    code = result.get("rc")
    told = f"{message} ({code})" if isinstance(code, int) and code else message
    return f"{told}: {last}" if last and last not in message else told


def _label(item: dict[str, Any]) -> Any:
    """Return how Ansible names the item of a loop."""
    known = item.get(str(item.get("ansible_loop_var") or "item"), "")
    return item.get("_ansible_item_label", known)


def complaint(*files: Path) -> str:
    """Return what Ansible or ansible-runner wrote when there is no event."""
    lines: list[str] = []
    for path in files:
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - 8192))
                lines += file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            continue
    told = [line.strip() for line in lines if line.strip()]
    errors = [line for line in told if "ERROR" in line or "rror:" in line]
    return (errors or told or [""])[-1]
