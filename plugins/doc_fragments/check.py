# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check mode makes of a configuration that cannot be used."""

from __future__ import annotations


class ModuleDocFragment:
    """What check mode makes of a configuration that cannot be used."""

    DOCUMENTATION = r"""
options:
  strict_check:
    description:
      - In check mode, fail when a provider of the configuration cannot be used, or a label asks for what its cloud does
        not have. The failure has all reasons, and the result is the same as without it.
      - With V(false) the reasons are only returned. Without check mode this does nothing.
    type: bool
    default: true
"""
