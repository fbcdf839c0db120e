# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How check mode ends: with the plan, and with a failure where the configuration cannot be used."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..model.errors import PartlyFailed


def warn_left_out(module: AnsibleModule, result: dict[str, Any]) -> None:
    """Providers that were left out; check mode tells them by ``unusable``."""
    if "unusable" not in result:
        for name, why in result.get("left_out", {}).items():
            module.warn(f"provider {name} is left out: {why}")


def judged(module: AnsibleModule, result: dict[str, Any]) -> dict[str, Any]:
    """The result of check mode, where its ``unusable`` is empty or the user wants to go on all the same.

    :raises PartlyFailed: there is something unusable; it carries the result.
    """
    if not module.check_mode or not module.params["strict_check"] or not result.get("unusable"):
        return result
    raise PartlyFailed("\n".join(result["unusable"]), result)
