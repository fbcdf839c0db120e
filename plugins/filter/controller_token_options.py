# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: controller_token_options
short_description: By which options the collection for AWX takes a token
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - C(awx.awx) and C(ansible.controller) have renamed the option for the token of a login; each release knows one of the
    names. The filter looks into the release that is installed.
positional: _input
options:
  _input:
    description:
      - Name of the collection.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Read the organizations, whatever the release of the collection
  ansible.builtin.debug:
    msg: "{{ query('ansible.controller.controller_api', 'organizations', **{options.lookup: token}) }}"
  vars:
    options: "{{ 'ansible.controller' | stackci.nodepool.controller_token_options }}"
"""

RETURN = r"""
_value:
  description: The name of the option of its modules as C(module), that of its lookup C(controller_api) as C(lookup).
  type: dict
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ansible.errors import AnsibleFilterError


def controller_token_options(collection: str) -> dict[str, str]:
    """Return the names of the options for a token.

    :raises AnsibleFilterError: the collection is none for AWX, or is not installed.
    """
    try:
        api = import_module(f"ansible_collections.{collection}.plugins.module_utils.controller_api").ControllerModule
        module = next(name for name in api.AUTH_ARGSPEC if name.endswith("token"))
    except (ImportError, AttributeError, StopIteration) as problem:
        raise AnsibleFilterError(
            f"controller_token_options: {collection} is not a collection for AWX, or not installed: {problem!r}"
        ) from problem
    # The lookup has these names, and hands over the values by those of the modules.
    names = {module_name: short for short, module_name in api.short_params.items()}
    return {"module": module, "lookup": names.get(module, module)}


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names of the filters."""
        return {"controller_token_options": controller_token_options}
