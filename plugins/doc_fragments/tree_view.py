# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that show what is in ZooKeeper have in common, besides ``tree``."""

from __future__ import annotations


class ModuleDocFragment:
    """What the modules that show what is in ZooKeeper have in common, besides ``tree``."""

    DOCUMENTATION = r"""
options:
  require_launcher:
    description:
      - Fail when no launcher works on the tree. The failure has the whole result.
      - A launcher that has registered its pools, or did so within the last day, is enough.
    type: bool
    default: true
requirements:
  - kazoo >= 2.9.0
notes:
  - The module reads ZooKeeper once and writes nothing. It takes no lock, sets no watch and registers nothing.
  - What another program wrote and cannot be used is null in the row, and RV(ignore:problems) of the row says so.
"""
