# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: missing_collections
short_description: List collections that are not installed
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists the collections that Ansible does not find, so that a role can name them before it needs them.
positional: _input
options:
  _input:
    description:
      - Names of collections.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Fail unless awx.awx is installed
  ansible.builtin.assert:
    that: "['awx.awx'] | stackci.nodepool.missing_collections == []"
"""

RETURN = r"""
_value:
  description: The names of those that are not installed.
  type: list
  elements: str
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def missing_collections(names: list[str]) -> list[str]:
    """Return those of *names* that Ansible's loader does not find."""
    return [name for name in names if not is_there(name)]


def is_there(name: str) -> bool:
    """Return True when a collection is installed."""
    try:
        return find_spec(f"ansible_collections.{name}") is not None
    except ImportError:
        return False


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names of the filters."""
        return {"missing_collections": missing_collections}
