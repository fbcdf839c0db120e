# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a loop and its cycles as text for people, or as one object of JSON per line for programs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import printable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Subject

TEXT, JSON = "text", "json"
FORMATS = (TEXT, JSON)

ERROR, WARNING, INFO = 3, 4, 6
"""Priorities as in syslog."""

KEYS = tuple(Subject.__annotations__)
SHOWN = ("provider", "request", "node", "event_id")
"""Subjects that the text of a line must name; those that its message does not name are appended."""


@dataclass(frozen=True)
class Entry:
    """One line.

    :param time: UNIX seconds.
    :param cycle: the cycle that the line is about, None for the loop itself.
    :param quoted: True when the cycle wrote the line, False when the loop did.
    :param about: what the line is about; see ``model.lines.Subject``.
    """

    message: str
    priority: int = INFO
    time: float = 0.0
    cycle: int | None = None
    quoted: bool = False
    about: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_cycle(cls, document: Mapping[str, Any], cycle: int) -> Entry:
        """Convert a line of a cycle's progress file.

        :raises KeyError, TypeError, ValueError: when *document* is no such line.
        """
        return cls(
            message=" ".join(printable(str(document["line"])).split()),
            priority=int(document.get("priority", INFO)),
            time=float(document.get("time", 0.0)),
            cycle=cycle,
            quoted=True,
            about={key: printable(str(document[key])) for key in KEYS if document.get(key)},
        )


def rendered(entry: Entry, loop: str, style: str) -> str:
    """Return an entry as one line of the journal, without its priority.

    :param loop: the name of the loop.
    :param style: one of FORMATS.
    """
    return _as_json(entry, loop) if style == JSON else _as_text(entry)


def _as_text(entry: Entry) -> str:
    """Return ``cycle 7: node 0000000017: ready after 24.3 s [event_id 4c1f]``."""
    missing = [f"{key} {entry.about[key]}" for key in SHOWN if key in entry.about and not _names(entry, key)]
    text = f"cycle {entry.cycle}: {entry.message}" if entry.quoted else entry.message
    return f"{text} [{', '.join(missing)}]" if missing else text


def _names(entry: Entry, key: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(entry.about[key])}(?![\w-])", entry.message) is not None


def _as_json(entry: Entry, loop: str) -> str:
    time = datetime.fromtimestamp(entry.time, UTC).isoformat(timespec="milliseconds")
    document = {
        "time": time.replace("+00:00", "Z"),
        "level": {ERROR: "error", WARNING: "warning"}.get(entry.priority, "info"),
        "loop": loop,
        "cycle": entry.cycle,
        **entry.about,
        "message": entry.message,
    }
    return json.dumps({key: value for key, value in document.items() if value is not None}, ensure_ascii=False)


def write(priority: int, line: str) -> None:
    """Print a line, with its priority when the output goes to the journal, which takes each line for an entry."""
    line = printable(line)
    print(f"<{priority}>{line}" if "JOURNAL_STREAM" in os.environ else line, flush=True)
