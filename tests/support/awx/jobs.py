# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of AWX, and what they keep from being deleted (``RelatedJobsPreventDeleteMixin`` in ``awx/api/views/mixin.py``).

Nothing here takes time: a job that was canceled ends, and its events are processed, after so many looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ACTIVE = ("new", "pending", "waiting", "running")
ENDED = "2026-01-01T00:00:00.000000Z"
HOLDERS = {
    "job_templates": "unified_job_template",
    "workflow_job_templates": "unified_job_template",
    "inventory_sources": "unified_job_template",
    "projects": "project",
    "inventories": "inventory",
}
"""What is not deleted while a job is at work, and the field of the job that says so."""


@dataclass
class Job:
    """One job, project update or inventory update.

    :param looks: looks after which it ends once it was canceled.
    :param refusals: deletions that are refused after its end, because its events are still being processed.
    """

    id: int
    type: str
    name: str
    unified_job_template: int
    project: int | None
    inventory: int | None
    status: str = "running"
    looks: int = 2
    refusals: int = 1
    canceled: bool = False
    artifacts: dict[str, Any] = field(default_factory=dict)

    def seen(self) -> None:
        """Somebody looked."""
        if self.canceled and self.status in ACTIVE:
            self.looks -= 1
            if self.looks <= 0:
                self.status = "canceled"

    def view(self) -> dict[str, Any]:
        """As the API shows it."""
        plural = f"{self.type}s"
        url = f"/api/v2/{plural}/{self.id}/"
        return {
            "id": self.id,
            "type": self.type,
            "name": self.name,
            "url": url,
            "related": {"cancel": f"{url}cancel/"},
            "status": self.status,
            "finished": None if self.status in ACTIVE else ENDED,
            "artifacts": self.artifacts,
            "unified_job_template": self.unified_job_template,
        }


class Jobs:
    """All jobs, by id."""

    def __init__(self) -> None:
        self.all: dict[int, Job] = {}

    def add(self, job: Job) -> Job:
        """A job that began by itself."""
        self.all[job.id] = job
        return job

    def views(self) -> list[dict[str, Any]]:
        """All of them, looked at."""
        for job in self.all.values():
            job.seen()
        return [job.view() for job in self.all.values()]

    def cancel(self, number: int) -> tuple[int, Any]:
        """The answer to a POST of its cancel page."""
        job = self.all[number]
        if job.status not in ACTIVE:
            return 405, {"detail": 'Method "POST" not allowed.'}
        job.canceled = True
        return 202, None

    def problem(self, kind: str, thing: Mapping[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Why a thing is not deleted now."""
        holder = HOLDERS.get(kind)
        related = [job for job in self.all.values() if holder and getattr(job, holder) == thing["id"]]
        if at_work := [job for job in related if job.status in ACTIVE]:
            listed = [{"id": job.id, "type": job.type} for job in at_work]
            return 409, {"error": "Resource is being used by running jobs.", "active_jobs": listed}
        for job in related:
            if job.refusals > 0:
                job.refusals -= 1
                return 403, {"detail": f"Related job {job.type}-{job.id} is still processing events."}
        return None
