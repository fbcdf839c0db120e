# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the uploads cycle did, for the module's result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.uploads.deletion import DeletionResult
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.uploads.upload import Ended, UploadResult
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import UploadCase, UploadCode
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import DeleteUpload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload

SETTLED_CASES = frozenset({UploadCode.CURRENT})
"""Cases of which nobody needs to be told."""


@dataclass
class UploadsAccount:
    """In the order of events."""

    done: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[dict[str, Any]] = field(default_factory=list)
    deleted: list[dict[str, Any]] = field(default_factory=list)
    builds_deleted: list[dict[str, Any]] = field(default_factory=list)
    files_removed: list[str] = field(default_factory=list)
    undeleted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What could not be deleted at the end, by what it is."""
    bytes: int = 0

    def upload(self, result: UploadResult) -> None:
        """An upload has ended."""
        row = {
            **case_row(result.case),
            "upload_id": result.upload_id,
            "external_id": result.external_id,
            "external_name": result.external_name,
            "bytes": result.sent,
            "seconds": round(result.seconds, 3),
        }
        row.pop("code")
        row.pop("reason")
        if result.ended == Ended.DONE:
            self.bytes += result.sent
            self.done.append({**row, "compared": list(result.compared)})
        elif result.ended == Ended.STOPPED:
            self.stopped.append(row)
        elif result.ended != Ended.SKIPPED:
            self.failed.append({**row, "error": result.why})

    def deletion(self, result: DeletionResult, planned: DeleteUpload) -> None:
        """An upload is gone, or is not."""
        name = result.upload.path
        if result.done:
            self.undeleted.pop(name, None)
            self.deleted.append({**upload_row(result.upload), "code": planned.code, "reason": planned.reason})
        elif not result.skipped:
            self.undeleted[name] = {**upload_row(result.upload), "error": result.why}

    @property
    def changed(self) -> bool:
        """True when anything in ZooKeeper, a cloud or images-dir was changed."""
        things = (self.done, self.failed, self.stopped, self.deleted, self.builds_deleted, self.files_removed)
        return any(things)

    def document(self) -> dict[str, Any]:
        """As the module returns it."""
        return {
            "uploads": {
                "done": self.done,
                "failed": self.failed,
                "stopped": self.stopped,
                "deleted": self.deleted,
            },
            "builds_deleted": self.builds_deleted,
            "files_removed": self.files_removed,
            "undeleted": list(self.undeleted.values()),
            "bytes": self.bytes,
        }


def case_row(case: UploadCase) -> dict[str, Any]:
    """An upload that is or is not to be made."""
    return {
        "provider": case.provider,
        "image": case.image,
        "build_id": case.build.id if case.build else "",
        "format": case.format,
        "code": case.code,
        "reason": case.reason,
    }


def upload_row(upload: Upload) -> dict[str, Any]:
    """An upload by its record."""
    return {
        "provider": upload.provider,
        "image": upload.image,
        "build_id": upload.build_id,
        "upload_id": upload.id,
        "external_id": upload.external_id or "",
    }
