# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview of the uploads cycle for check mode. It changes nothing.

It only checks whether each cloud can be reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

from ....clients.zookeeper.store import Store
from ....imaging.due_uploads import UploadCase
from ....imaging.retention import (
    DeleteFiles,
    DeleteUpload,
    Deletion,
    MarkBuild,
)
from ...frame.config_source import config_by_hand
from ...frame.config_warnings import config_warnings
from ...frame.provider_reach import (
    reach,
    reach_document,
    unreached,
)
from ...frame.tree_identity import site_of
from ..context.builder_options import UploadOptions
from ..context.image_files import check_files
from .upload_context import UploadContext
from .upload_report import (
    SETTLED_CASES,
    case_row,
    upload_row,
)

_DELETION_LINES = {
    "upload": "provider {provider}: image {image}: delete upload {upload_id} of build {build_id}, {reason}",
    "build": "image {image}: delete build {build_id}, {reason}",
    "files": "image {image}: remove {names}, {reason}",
    "record": "image {image}: remove the record of build {build_id}, {reason}",
}


def preview(options: UploadOptions, *, clock: Callable[[], float] = time.time) -> dict[str, Any]:
    """Return the result of check mode: the plan in documents and in lines for ``--diff``.

    :raises NodepoolError: the configuration, ZooKeeper or images-dir cannot be used.
    """
    config = config_by_hand(options, check=True)
    began = clock()
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False)
        context = UploadContext(options, config, store, create=False)
        check_files(context.images_dir, store, site_of(store, create=False), write=False)
        context.check_choice()
        view = context.view(clock(), frozenset())
        cases, deletions = context.cases(view), list(context.deletions(view))
        warnings = config_warnings(config, store)
    providers = _reached(context)
    unusable = unreached(providers)
    rows = [_deletion_row(planned) for planned in deletions]
    lines = [_DELETION_LINES[row["what"]].format_map({**row, "names": ", ".join(row.get("files", ()))}) for row in rows]
    lines += [*_case_lines(cases), *(f"cannot be used: {why}" for why in unusable)]
    return {
        "changed": bool(deletions) or any(case.due for case in cases),
        "ended": "check",
        "seconds": round(clock() - began, 3),
        "plan": {
            "upload": [case_row(case) for case in cases if case.due],
            "wait": [case_row(case) for case in cases if not case.due and case.code not in SETTLED_CASES],
            "delete": rows,
        },
        "diff": {"before": "", "after": "".join(f"{line}\n" for line in lines), "after_header": "uploads plan"},
        "providers": providers,
        "unusable": unusable,
        "left_out": dict(context.problems),
        "warnings": warnings,
    }


def _reached(context: UploadContext) -> dict[str, dict[str, Any]]:
    """Return for each provider with chosen images whether it can be used, and if not why and what to do."""
    takers = [
        provider.name
        for provider in context.config.providers.values()
        if any(context.options.concerns(image, provider.name) for image in provider.diskimages)
    ]
    clients = {name: client for name in takers if (client := context.client(name)) is not None}
    answers = reach(clients, lambda client: client.images.reach())
    return {
        name: reach_document(answers[name] if name in answers else context.problems[name]) for name in sorted(takers)
    }


def _case_lines(cases: Iterable[UploadCase]) -> Iterable[str]:
    for case in cases:
        name = f"provider {case.provider}: image {case.image}"
        if case.due and case.build is not None:
            yield f"{name}: upload build {case.build.id} as {case.format}, {case.reason}"
        elif case.code not in SETTLED_CASES:
            yield f"{name}: wait, {case.reason}"


def _deletion_row(planned: Deletion) -> dict[str, Any]:
    why = {"code": planned.code, "reason": planned.reason}
    if isinstance(planned, DeleteUpload):
        return {"what": "upload", **upload_row(planned.upload), **why}
    if isinstance(planned, MarkBuild):
        return {"what": "build", "image": planned.build.image, "build_id": planned.build.id, **why}
    what = "files" if isinstance(planned, DeleteFiles) else "record"
    row = {"what": what, "image": planned.image, "build_id": planned.build_id, **why}
    return {**row, "files": list(planned.names)} if isinstance(planned, DeleteFiles) else row
