# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of every API call, and the kinds that calls are counted by."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

LONGEST_LOG = 500_000

# Words that stand for themselves in a path; whatever else appears is an object's id or name.
LITERAL = frozenset(
    """auth tokens projects catalog users
    servers detail action limits flavors os-availability-zone os-keypairs os-extra_specs extensions metadata
    os-interface os-volume_attachments os-security-groups os-instance-actions os-server-groups ips tags
    images file schemas image members tasks info stores import stage actions deactivate reactivate
    networks subnets ports floatingips security-groups security-group-rules quotas details.json details default
    routers agents subnetpools availability_zones network-ip-availabilities
    volumes snapshots types os-quota-sets""".split()
)
PLAIN_SERVICES = frozenset({"compute", "network", "image", "identity"})


def normalise(method: str, service: str, segments: list[str]) -> str:
    """Return the kind of a call, such as ``DELETE /servers/{id}``.

    :param segments: the path below the cloud's and the service's prefix and version. Discovery of a service is
        ``GET /compute/``; cinder's kinds carry ``/volume`` in front because nova has some of the same names.
    """
    if not segments:
        return f"{method} /{service}/"
    words = [word if word in LITERAL else "{id}" for word in segments]
    if words[-1] == "details.json":
        words[-1] = "details"
    if service not in PLAIN_SERVICES:
        words.insert(0, service)
    return f"{method} /{'/'.join(words)}"


@dataclass(slots=True)
class Entry:
    """One call. Times are seconds since the epoch; status is None while it is not answered."""

    start: float
    cloud: str
    kind: str
    path: str
    end: float | None = None
    status: int | str | None = None
    fault: str | None = None

    def row(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "end": self.end,
            "cloud": self.cloud,
            "kind": self.kind,
            "path": self.path,
            "status": self.status,
            "fault": self.fault,
        }


class CallLog:
    """The calls of one cloud; the oldest are dropped beyond ``LONGEST_LOG``, the counts are kept."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=LONGEST_LOG)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._open: dict[int, Entry] = {}

    def begin(self, now: float, cloud: str, kind: str, path: str) -> Entry:
        entry = Entry(now, cloud, kind, path)
        self._entries.append(entry)
        self._open[id(entry)] = entry
        return entry

    def finish(self, entry: Entry, now: float, status: int | str) -> None:
        """Close an entry; a status that is a word (``hang``, ``reset``) tells of a call without an answer."""
        entry.end, entry.status = now, status
        self._open.pop(id(entry), None)
        self._counts[(entry.kind, str(status))] += 1

    def rows(self) -> list[dict[str, Any]]:
        return [entry.row() for entry in self._entries]

    def counts(self) -> dict[str, Any]:
        """Return ``total``, ``by_kind`` and ``by_status`` ({kind: {status: n}}); unanswered calls count as ``open``."""
        by_status: dict[str, dict[str, int]] = {}
        for (kind, status), number in self._counts.items():
            by_status.setdefault(kind, {})[status] = number
        for entry in self._open.values():
            row = by_status.setdefault(entry.kind, {})
            row["open"] = row.get("open", 0) + 1
        by_kind = {kind: sum(row.values()) for kind, row in by_status.items()}
        return {"total": sum(by_kind.values()), "by_kind": by_kind, "by_status": by_status}

    def clear(self) -> None:
        self._entries.clear()
        self._counts.clear()
