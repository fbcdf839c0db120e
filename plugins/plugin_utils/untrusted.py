# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values from clouds and from ZooKeeper as variables that Ansible never evaluates as templates."""

from __future__ import annotations

from typing import Any

from ansible.utils.unsafe_proxy import wrap_var

try:
    from ansible.template import trust_as_template
except ImportError:
    trust_as_template = None


def untrusted(value: Any) -> Any:
    """Return *value* as data.

    Since 2.19 ansible-core evaluates only texts that are marked as trusted. Earlier ones evaluate each text that is not
    marked as unsafe.
    """
    return value if trust_as_template is not None else wrap_var(value)
