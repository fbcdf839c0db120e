# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx' configuration of the documentation site that ``make docs`` builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from docutils import nodes

project = "stackci.nodepool"
release = yaml.safe_load((Path(__file__).parents[2] / "galaxy.yml").read_text("utf-8"))["version"]
extensions = ["sphinx_antsibull_ext"]
html_title = f"stackci.nodepool {release}"
html_short_title = "stackci.nodepool"
html_show_sphinx = False
# What text and side column need; on narrower screens the search box is at the end of a page.
html_theme_options = {"description": "Single-use test nodes from OpenStack clouds", "page_width": "68rem"}
smartquotes = False

MANUAL = "https://docs.ansible.com/ansible/latest/"
ANSIBLE = {
    "action_plugins": "plugins/action.html#action-plugins",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    "ANSIBLE_HOME": "reference_appendices/config.html#envvar-ANSIBLE_HOME",
}
"""Labels of Ansible's own manual that antsibull-docs refers to. On docs.ansible.com they are pages beside ours."""


def into_the_manual(_app: Any, _env: Any, node: Any, shown: Any) -> nodes.reference | None:
    """A link for a label of Ansible's manual; none for others, and then Sphinx warns."""
    place = ANSIBLE.get(node.get("reftarget"))
    if place is None:
        return None
    return nodes.reference("", "", shown, internal=False, refuri=MANUAL + place)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("missing-reference", into_the_manual)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
