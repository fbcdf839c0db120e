# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes one upload because the operator requested it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from ....clients.zookeeper.store import Store
from ....imaging.retention import DeleteUpload, DeletionCode
from ....model.errors import CloudAuthError, NodepoolError
from ....model.image import Upload, UploadState
from ...frame.config_source import config_by_hand
from ...frame.config_warnings import config_warnings
from ...frame.tree_identity import site_of
from ..context.builder_options import UploadOptions
from .deletion import (
    DeletionResult,
    delete_upload,
)
from .upload_context import UploadContext
from .upload_report import (
    UploadsAccount,
    upload_row,
)
from .upload_resources import UploadResources

LOCK_PAUSE = 0.5
"""Seconds between two tries for a lock that another client has."""
REASON = "the operator requested it"


def delete_one(
    options: UploadOptions,
    upload_id: str,
    *,
    check: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Delete the upload that the options and *upload_id* name: first the cloud image, then the record.

    :param check: only report whether the upload exists.
    :raises NodepoolError: the upload is still under way, or the cloud did not delete the image; then its record says
        ``deleting``, and each cycle tries again.
    """
    config = config_by_hand(options, check=check)
    began = time.time()
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not check)
        context = UploadContext(options, config, store, create=False)
        upload = _found(store, options, upload_id)
        if upload is not None and not check:
            _delete(context, upload, options.api_timeout, progress)
        row = {**upload_row(upload), "code": DeletionCode.ASKED, "reason": REASON} if upload else None
        account = UploadsAccount()
        account.deleted += [row] if row else []
        did = {
            **account.result(),
            "waiting": [],
            "problems": [],
            "config_problems": [],
            "api_calls": context.calls(),
        }
        plan = {"upload": [], "wait": [], "delete": [{"what": "upload", **row}] if row else []}
        return {
            "changed": upload is not None,
            "ended": "check" if check else "done",
            "seconds": round(time.time() - began, 3),
            **({"plan": plan, "providers": {}, "unusable": []} if check else did),
            "diff": {
                "before": f"{upload.path} ({upload.state})\n" if upload else "",
                "after": "",
                "before_header": "upload",
                "after_header": "upload",
            },
            "left_out": {},
            "warnings": config_warnings(config, store),
        }


def _found(store: Store, options: UploadOptions, upload_id: str) -> Upload | None:
    uploads = store.images.uploads(options.image or "", options.provider)
    return next(
        (upload for upload in uploads if upload.build_id == options.build_id and upload.id == upload_id.zfill(10)), None
    )


def _delete(context: UploadContext, upload: Upload, patience: float, progress: Callable[[str], None]) -> None:
    store = context.store
    place = (upload.image, upload.build_id, upload.provider)
    if upload.state == UploadState.UPLOADING and store.images.is_provider_locked(*place):
        raise NodepoolError(f"upload {upload.id} is in progress: delete it when it is ready or has failed")
    client = context.client(upload.provider)
    if client is None:
        raise CloudAuthError(context.problems[upload.provider], provider=upload.provider)
    resources = UploadResources(
        store=store,
        images_dir=context.images_dir,
        site=site_of(store, create=False),
        view=lambda key: context.view(time.time(), frozenset()),
        config=lambda: context.config,
        say=progress,
        store_patience=patience,
        hook_timeout=0.0,
        clock=time.time,
    )
    end = resources.steady() + patience
    while True:
        planned = DeleteUpload(upload, DeletionCode.ASKED, REASON)
        result: DeletionResult = delete_upload(planned, client, resources, still=lambda view: True)
        if result.done:
            progress(f"upload {upload.id} of build {upload.build_id} at {upload.provider} is deleted")
            return
        if not result.skipped or resources.steady() >= end:
            raise NodepoolError(f"upload {upload.id} at {upload.provider} is not deleted yet: {result.why}")
        resources.sleeper(LOCK_PAUSE)
