# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that change single records in ZooKeeper have in common, besides ``tree``."""

from __future__ import annotations


class ModuleDocFragment:
    """What the modules that change single records in ZooKeeper have in common, besides ``tree``."""

    DOCUMENTATION = r"""
options: {}
requirements:
  - kazoo >= 2.9.0
notes:
  - The module works on ZooKeeper only. The launcher that acts for the provider notices the change at once and does the
    rest in the cloud; without a launcher at work the next one does.
"""
