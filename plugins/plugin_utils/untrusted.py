# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values from clouds and from ZooKeeper as variables that Ansible never evaluates as templates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ansible import context
from ansible.utils.unsafe_proxy import wrap_var

try:
    from ansible.template import trust_as_template
except ImportError:
    trust_as_template = None

_PLAIN = re.compile(r"[^{}()\[\]|\\]*")
"""A text that is no template, and no call even if somebody had it evaluated as an expression."""


def untrusted(value: Any) -> Any:
    """Return *value* as data.

    Since 2.19 ansible-core evaluates only texts that are marked as trusted. Earlier ones evaluate each text that is not
    marked as unsafe.
    """
    if trust_as_template is not None:
        return value
    return _unmarked(value, wrap_var) if _is_list() else wrap_var(value)


def listed(value: Any) -> Any:
    """Return *value* as ``ansible-inventory --list`` prints it without a mark where it is plain.

    AWX stores what that prints as the variables of its hosts and knows no marks: an address with one is no address.
    """
    return value if trust_as_template is None or not _is_list() else _unmarked(value, str)


def _is_list() -> bool:
    return bool(context.CLIARGS.get("list"))


def _unmarked(value: Any, mark: Callable[[str], Any]) -> Any:
    """Return *value* with plain texts that ansible-core does not mark in a list; the others go through *mark*."""
    if isinstance(value, dict):
        return {key: _unmarked(item, mark) for key, item in value.items()}
    if isinstance(value, list):
        return [_unmarked(item, mark) for item in value]
    if not isinstance(value, str):
        return value
    if not _PLAIN.fullmatch(value):
        return mark(value)
    return value if trust_as_template is None else trust_as_template(value)
