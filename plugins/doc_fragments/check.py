# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that decides whether check mode fails for a configuration that cannot be used."""

from __future__ import annotations


class ModuleDocFragment:
    """The option that decides whether check mode fails for a configuration that cannot be used."""

    DOCUMENTATION = r"""
options:
  strict_check:
    description:
      - In check mode, fail when a provider of the configuration cannot be used, or a label needs something that its
        cloud does not have. The failure lists all reasons and carries the whole result.
      - With V(false) the module only returns the reasons. Outside of check mode the option has no effect.
    type: bool
    default: true
"""
