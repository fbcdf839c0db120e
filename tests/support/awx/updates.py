# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Updates of AWX's projects. They take no time: one ends after so many looks at it or at the projects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TRIGGERS = ("scm_type", "scm_url", "scm_branch", "scm_refspec")
"""Fields with whose change AWX begins an update (``FIELDS_TRIGGER_UPDATE`` in ``awx/main/models/projects.py``)."""
REVISION = "0" * 40


@dataclass
class Update:
    """One update of a project."""

    id: int
    project: int
    url: str
    looks: int
    status: str = "pending"


class Updates:
    """All updates.

    :ivar unreachable: an address that has this in it cannot be fetched from.
    :ivar looks: looks after which an update ends.
    """

    def __init__(self) -> None:
        self.unreachable = "nowhere"
        self.looks = 1
        self._all: list[Update] = []
        self._fetched: set[int] = set()

    def begin(self, project: Mapping[str, Any]) -> dict[str, Any]:
        """Begin one; what is answered."""
        update = Update(len(self._all) + 1, project["id"], project["scm_url"], self.looks)
        self._all.append(update)
        return {"project_update": update.id, **self._view(update)}

    def look(self) -> None:
        """Somebody looked at updates or projects."""
        for update in self._all:
            update.looks -= 1
            if update.looks == 0:
                update.status = "failed" if self.unreachable in update.url else "successful"
            if update.status == "successful":
                self._fetched.add(update.project)

    def one(self, number: int) -> dict[str, Any] | None:
        """As the API shows it."""
        return next((self._view(update) for update in self._all if update.id == number), None)

    def fetched(self, project: int) -> bool:
        """Whether there is anything in a project."""
        return project in self._fetched

    def shown(self, project: int) -> dict[str, Any]:
        """What the API shows of them in a project: ``current_update`` only while there is one."""
        last = next(update for update in reversed(self._all) if update.project == project)
        return {
            "scm_revision": REVISION if self.fetched(project) else "",
            "status": last.status,
            "summary_fields": {"current_update": {"id": last.id}} if last.status == "pending" else {},
        }

    def _view(self, update: Update) -> dict[str, Any]:
        return {
            "id": update.id,
            "type": "project_update",
            "url": f"/api/v2/project_updates/{update.id}/",
            "status": update.status,
            "failed": update.status == "failed",
            "event_processing_finished": update.status != "pending",
            "scm_revision": REVISION if self.fetched(update.project) else "",
        }
