# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes uploads and builds: first the record is marked, then the image is deleted, then the record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ....clients.openstack.cloud_client import CloudClient
from ....clients.zookeeper.locks import Held
from ....imaging.image_snapshot import ImagesView
from ....imaging.retention import (
    DeleteBuild,
    DeleteUpload,
    DeletionCode,
    MarkBuild,
    plan_deletions,
)
from ....model.errors import NodepoolError, StoreGone
from ....model.gate import PROMOTED, GateRecord
from ....model.image import Build, BuildState, Upload, UploadState
from ....model.lines import Subject, Trouble
from ..builds.clearing import set_build_state
from .adopt_upload import adopt_upload
from .gate_nodes import GateNodes
from .gate_run import NO_GATE
from .upload import images_of
from .upload_resources import UploadResources


@dataclass
class DeletionResult:
    """The result of the deletion of an upload. *done*: it is gone or adopted; *why*: the reason if it is not done."""

    upload: Upload
    code: str
    done: bool
    why: str = ""
    skipped: bool = False
    """True if nothing was deleted because another client works on the upload, or it is needed after all."""
    adopted: bool = False
    """True if its image was complete, and the upload is ready now."""


def delete_upload(
    planned: DeleteUpload,
    client: CloudClient | None,
    resources: UploadResources,
    *,
    still: Callable[[ImagesView], bool] | None = None,
) -> DeletionResult:
    """Delete an upload, or adopt it if it was abandoned and its image is complete. Never raises NodepoolError.

    :param client: None if the image cannot be in a cloud.
    :param still: returns, under the lock, whether the upload must still be deleted; None to check that a new plan
        deletes it and that its record has not changed since *planned* was made.
    """
    upload = planned.upload
    key = (upload.build_id, upload.provider)
    wanted = still or (lambda view: _still_planned(view, upload))
    held: Held | None = None
    try:
        held = resources.store.images.lock_upload(upload)
        if held is None:
            return DeletionResult(upload, planned.code, False, "another client has its lock", skipped=True)
        view = resources.view(key)
        if not wanted(view):
            return DeletionResult(upload, planned.code, False, "it is needed", skipped=True)
        there = resources.store.images.read_upload(upload)
        if there is None:
            return DeletionResult(upload, planned.code, True)
        if still is None and there.version != upload.version:
            # Its builder may have just made it ready: the cache may have shown the release of the lock before that.
            return DeletionResult(upload, planned.code, False, "it has changed", skipped=True)
        if planned.code == DeletionCode.ABANDONED and client is not None and adopt_upload(there, client, resources):
            _leave_gate(there, resources)
            return DeletionResult(there, planned.code, True, adopted=True)
        there.set_state(UploadState.DELETING, resources.clock())
        resources.store.images.write_upload(there, held=held, if_unchanged=True)
        if client is not None and not _is_shared(view, there):
            _delete_image(there, client, resources.site)
        resources.store.images.delete_upload(there)
        _leave_gate(there, resources)
    except StoreGone:
        return DeletionResult(upload, planned.code, True)
    except NodepoolError as error:
        return DeletionResult(upload, planned.code, False, str(error))
    finally:
        if held is not None:
            held.release()
    return DeletionResult(there, planned.code, True)


def _leave_gate(upload: Upload, resources: UploadResources) -> None:
    """Give back what the upload's test still asks for: another cycle had begun it, and no gate goes on with it."""
    gates = resources.store.gates
    gate = gates.get(upload.provider, upload.image)
    if gate is None or not gate.is_of(upload) or gate.outcome:
        return

    def save(record: GateRecord) -> None:
        gates.save(upload.provider, upload.image, record)

    GateNodes(resources.store, upload, save, resources.clock).drop(gate)
    if upload.state == UploadState.READY:
        save(gate.ended(PROMOTED, NO_GATE))
        about = Subject(provider=upload.provider, image=upload.image, build=upload.build_id, upload=upload.id)
        line = (
            f"provider {upload.provider}: image {upload.image}: build {upload.build_id} ready without a test: {NO_GATE}"
        )
        resources.say(Trouble(line, **about))
    else:
        save(replace(gate, request="", token="", kind=""))


def _is_shared(view: ImagesView, upload: Upload) -> bool:
    """Return True if another record that may be in use names the same cloud image."""
    return bool(upload.external_id) and any(
        other.external_id == upload.external_id and other.path != upload.path and other.state == UploadState.READY
        for state in view.images.values()
        for other in state.uploads
        if other.provider == upload.provider
    )


def _delete_image(upload: Upload, client: CloudClient, site: str) -> None:
    """Delete the image that the record names; without an id, the images with the upload's marks."""
    if upload.external_id:
        client.images.delete(upload.external_id)
        return
    for image in images_of(upload, client, site):
        client.images.delete(image.id)


def _still_planned(view: ImagesView, upload: Upload) -> bool:
    plan = plan_deletions(view)
    return any(isinstance(each, DeleteUpload) and each.upload.path == upload.path for each in plan)


def mark_build(planned: MarkBuild, resources: UploadResources) -> bool:
    """Mark a build as deleting; return False if it is needed after all, or another client has its lock.

    :raises StoreError: the write failed.
    """
    build = planned.build

    def may(there: Build) -> bool:
        plan = plan_deletions(resources.view(None))
        still = any(isinstance(each, MarkBuild) and each.build.id == build.id for each in plan)
        return still and there.version == build.version

    try:
        return bool(set_build_state(resources.store, build, BuildState.DELETING, resources.clock(), may))
    except StoreGone:
        return False


def delete_build(planned: DeleteBuild, resources: UploadResources) -> bool:
    """Remove the record of a build; return False if it is needed after all.

    :raises StoreError: the removal failed.
    """
    plan = plan_deletions(resources.view(None))
    if not any(isinstance(each, DeleteBuild) and each.build_id == planned.build_id for each in plan):
        return False
    providers = resources.store.images.providers_of(planned.image, planned.build_id)
    if not all(resources.store.images.knows_uploads(planned.image, planned.build_id, name) for name in providers):
        return False
    resources.store.images.delete_build(planned.image, planned.build_id)
    return True
