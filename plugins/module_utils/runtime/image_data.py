# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that exports and imports image data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..cycles.by_hand.image_data_transfer import export_for_zuul, export_images, import_images
from ..cycles.frame.cycle_options import ConfigOptions
from ..model.zuul.zuul_names import ZuulProject
from .arguments import CONFIG_ARGUMENTS, options_of
from .run_cycle import told

NODEPOOL, ZUUL = "nodepool", "zuul"
ZUUL_ARGUMENTS: dict[str, Any] = {
    "zuul_project": {"type": "str"},
    "zuul_tenant": {"type": "str"},
    "zuul_branch": {"type": "str", "default": "main"},
}
IMAGE_DATA_ARGUMENTS: dict[str, Any] = {
    **CONFIG_ARGUMENTS,
    **ZUUL_ARGUMENTS,
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["exported", "imported"], "required": True},
    "form": {"type": "str", "choices": [NODEPOOL, ZUUL], "default": NODEPOOL},
    "force": {"type": "bool", "default": False},
}


def image_data(module: AnsibleModule) -> dict[str, Any]:
    """Export or import image data."""
    params = module.params
    problems = list(_problems(params))
    options = options_of(ConfigOptions, params, problems)
    how: dict[str, bool] = {"force": params["force"], "check": module.check_mode}
    if params["form"] == ZUUL:
        return told(module, export_for_zuul(options, params["path"], zuul_project(params), **how))
    work = export_images if params["state"] == "exported" else import_images
    return told(module, work(options, params["path"], **how))


def zuul_project(params: Mapping[str, Any]) -> ZuulProject:
    """Return where Zuul reads its definitions, from the module's options."""
    return ZuulProject(params["zuul_project"], params["zuul_tenant"], params["zuul_branch"])


def _problems(params: Mapping[str, Any]) -> Iterator[str]:
    if params["form"] != ZUUL:
        return
    if params["state"] != "exported":
        yield "form=zuul is for state=exported only: zuul-admin import-images imports the file"
    if not params["zuul_tenant"]:
        yield "zuul_tenant is missing: give the tenant of Zuul that shows the images as its own"
    host, _slash, name = (params["zuul_project"] or "").partition("/")
    if not host or not name:
        yield (
            "zuul_project is not the canonical name of a project: give host name and project, such as"
            " opendev.org/org/project-config"
        )
