# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The uploads cycle as a module."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.builder.context.builder_options import UploadOptions
from ..cycles.builder.uploads.delete_upload import delete_one
from ..cycles.builder.uploads.upload_cycle import run_uploads
from ..cycles.builder.uploads.upload_preview import preview
from ..reporting.summary import uploads_summary
from .arguments import API_ARGUMENTS, CYCLE_ARGUMENTS, options_of
from .progress import Progress
from .run_cycle import cycle_result, run_cycle

UPLOAD_ARGUMENTS: dict[str, Any] = {
    **CYCLE_ARGUMENTS,
    **API_ARGUMENTS,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "image": {"type": "str"},
    "provider": {"type": "str"},
    "build_id": {"type": "str"},
    "upload_id": {"type": "str"},
    "force": {"type": "bool", "default": False},
    "uploads_per_provider": {"type": "int", "default": 2},
    "hook_timeout": {"type": "float", "default": 600.0},
}

UPLOAD_RULES: dict[str, Any] = {
    "required_if": [("state", "absent", ("image", "provider", "build_id", "upload_id"))],
    "required_by": {"build_id": ("image",), "upload_id": ("build_id",)},
}


def upload(module: AnsibleModule) -> dict[str, Any]:
    """Run one cycle or delete one upload, or in check mode return what would be done."""
    params, problems = module.params, []
    if params["upload_id"] is not None and params["state"] == "present":
        problems.append("upload_id is for state=absent: a new upload gets a new number")
    options = options_of(UploadOptions, params, problems, side_by_side=params["uploads_per_provider"])
    if params["state"] == "absent":
        progress = Progress(params["progress_file"]).line
        result = delete_one(options, params["upload_id"], check=module.check_mode, progress=progress)
    else:
        result = run_cycle(module, options, run_uploads, preview, starts_programs=True)
    return cycle_result(module, result, uploads_summary)
