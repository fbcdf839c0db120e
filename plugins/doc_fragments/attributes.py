# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes that all modules of the collection document."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes.

    The first three get their ``support`` from ``attributes.info`` for a module that only shows something, from
    ``attributes.change`` for one that supports them all, or from the module itself (with ``details`` where needed).
    """

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description:
      - In check mode the module returns what it would do and changes nothing, neither in ZooKeeper nor in a cloud.
  diff_mode:
    description:
      - In diff mode the module returns what it changed, or in check mode what it would change.
  idempotent:
    description:
      - Running the module again with the same options changes nothing more, as long as nothing else changes.
  action_group:
    description:
      - C(group/stackci.nodepool.all) in C(module_defaults) sets options for all modules of the collection.
    support: full
    membership:
      - stackci.nodepool.all
"""

    INFO = r"""
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

    CHANGE = r"""
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""
