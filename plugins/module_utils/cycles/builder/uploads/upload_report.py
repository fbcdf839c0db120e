# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of the actions of an uploads cycle, for the module's result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....imaging.due_uploads import UploadCase, UploadCode
from ....imaging.retention import DeleteUpload
from ....model.image import Upload
from .deletion import DeletionResult
from .upload import Ended, UploadResult

SETTLED_CASES = frozenset({UploadCode.CURRENT})
"""Cases that the result does not list."""
TROUBLED_CASES = frozenset({UploadCode.BACKOFF, UploadCode.NO_FILE, UploadCode.UNKNOWN})
"""Cases that the operator must look at."""
_UPLOADS = ("done", "failed", "stopped", "deleted", "adopted")
"""The results of uploads that have a list in the result."""


@dataclass
class UploadsAccount:
    """The actions of an uploads cycle, in the order of events."""

    done: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[dict[str, Any]] = field(default_factory=list)
    deleted: list[dict[str, Any]] = field(default_factory=list)
    adopted: list[dict[str, Any]] = field(default_factory=list)
    builds_deleted: list[dict[str, Any]] = field(default_factory=list)
    files_removed: list[str] = field(default_factory=list)
    undeleted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Uploads and files that could not be deleted, by the path of the upload or the name of the files."""
    bytes: int = 0

    def upload(self, result: UploadResult) -> None:
        """Note an upload that has ended."""
        upload = result.upload
        row = {
            **{name: value for name, value in case_row(result.case).items() if name not in ("code", "reason")},
            "upload_id": upload.id if upload else "",
            "external_id": (upload.external_id or "") if upload else "",
            "external_name": (upload.external_name or "") if upload else "",
            "bytes": result.sent,
            "seconds": round(result.seconds, 3),
        }
        if result.ended == Ended.DONE:
            self.bytes += result.sent
            self.done.append({**row, "compared": list(result.compared)})
        elif result.ended == Ended.STOPPED:
            self.stopped.append(row)
        elif result.ended not in (Ended.SKIPPED, Ended.UNDECIDED):
            self.failed.append({**row, "error": result.why})

    def deletion(self, result: DeletionResult, planned: DeleteUpload) -> None:
        """Note the result of the deletion of an upload."""
        name = result.upload.path
        if result.adopted:
            self.undeleted.pop(name, None)
            self.adopted.append({**upload_row(result.upload), "external_name": result.upload.external_name or ""})
        elif result.done:
            self.undeleted.pop(name, None)
            self.deleted.append({**upload_row(result.upload), "code": planned.code, "reason": planned.reason})
        elif not result.skipped:
            self.undeleted[name] = {**upload_row(result.upload), "error": result.why}

    @property
    def changed(self) -> bool:
        """True when anything in ZooKeeper, a cloud or images-dir was changed."""
        return any(getattr(self, name) for name in (*_UPLOADS, "builds_deleted", "files_removed"))

    def result(self) -> dict[str, Any]:
        """Return the account as the module returns it."""
        return {
            "uploads": {name: getattr(self, name) for name in _UPLOADS},
            "builds_deleted": self.builds_deleted,
            "files_removed": self.files_removed,
            "undeleted": list(self.undeleted.values()),
            "bytes": self.bytes,
        }


def problems_of(
    cases: Iterable[UploadCase],
    undeleted: Iterable[Mapping[str, Any]],
    left_out: Mapping[str, str],
    config_problems: Iterable[str],
) -> list[str]:
    """Return the problems at the end, as sentences.

    :param undeleted: rows of uploads and files that could not be deleted.
    :param left_out: provider → why it could not be used; problems of its images are not listed one by one.
    """
    found = [f"provider {name} is skipped: {why}" for name, why in left_out.items()]
    found += [
        f"provider {case.provider}: image {case.image}: {case.reason}"
        for case in cases
        if case.code in TROUBLED_CASES and case.provider not in left_out
    ]
    for row in undeleted:
        if "upload_id" not in row:
            found.append(f"image {row['image']}: files of build {row['build_id']} cannot be removed: {row['error']}")
        elif row["provider"] not in left_out:
            what = f"upload {row['upload_id']} of build {row['build_id']}"
            found.append(f"provider {row['provider']}: image {row['image']}: {what} cannot be deleted: {row['error']}")
    return [*found, *config_problems]


def case_row(case: UploadCase) -> dict[str, Any]:
    """Return the row of an upload that is due or waits."""
    return {
        "provider": case.provider,
        "image": case.image,
        "build_id": case.build.id if case.build else "",
        "format": case.format,
        "code": case.code,
        "reason": case.reason,
    }


def upload_row(upload: Upload) -> dict[str, Any]:
    """Return the row of an upload by its record."""
    return {
        "provider": upload.provider,
        "image": upload.image,
        "build_id": upload.build_id,
        "upload_id": upload.id,
        "external_id": upload.external_id or "",
    }
