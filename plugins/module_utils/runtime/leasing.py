# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease as a module."""

from __future__ import annotations

import getpass
import time
from contextlib import suppress
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.authorized_key import authorize
from ..clients.login_key import public_line
from ..cycles.leases.run import LeaseTurn, run_lease
from ..model.lease import LeaseSpec
from ..model.lease_until import seconds_until
from ..model.node import LONGEST_HOLD
from ..reporting.lease_files import LeaseFiles, bring
from ..reporting.lease_result import outcome_result, progress_line
from .arguments import CONFIG_ARGUMENTS, PROGRESS_ARGUMENTS, options_of
from .control import controlled
from .progress import Progress

LEASE_ARGUMENTS: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "extended", "absent"], "default": "present"},
    "labels": {"type": "list", "elements": "str"},
    "count": {"type": "int", "default": 1},
    "wait": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 600},
    "cancel_on_timeout": {"type": "bool", "default": False},
    "priority": {"type": "int", "default": 100},
    "provider": {"type": "str"},
    "tenant": {"type": "str"},
    "expires": {"type": "int", "default": 7200},
    "until": {"type": "str"},
    "owner": {"type": "str"},
    "reason": {"type": "str", "default": ""},
    "ssh_key": {"type": "str", "no_log": False},
    "launch": {"type": "bool", "default": False},
    "known_hosts": {"type": "path"},
    "ssh_config": {"type": "path"},
    "inventory": {"type": "path"},
    "private_key": {"type": "path", "no_log": False},
    "file_mode": {"type": "str", "choices": ["0600", "0644"], "default": "0600"},
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
}
_FILES = ("known_hosts", "ssh_config", "inventory", "private_key")
LEASE_RULES: dict[str, Any] = {"required_if": [("state", "present", ("labels",))]}


def _user() -> str:
    """Return the name of the user; "" where it has none, as in some containers."""
    with suppress(KeyError, OSError):
        return getpass.getuser()
    return ""


def lease(module: AnsibleModule) -> dict[str, Any]:
    """Bring a lease to the wanted state."""
    params = module.params
    wished = seconds_until(params["until"], time.time()) if params["until"] is not None else params["expires"]
    # A hold of 126 years has no end that anybody sees, and a longer one is read as a mistake.
    expires, patience = (min(seconds, int(LONGEST_HOLD)) for seconds in (wished, max(params["timeout"], wished)))
    spec = LeaseSpec(
        labels=tuple(params["labels"] or ()),
        patience=patience,
        expires=expires,
        ends_at_time=params["until"] is not None,
        owner=_user() if params["owner"] is None else params["owner"],
        **{key: params[key] for key in ("name", "count", "priority", "provider", "tenant", "reason")},
    )
    state = params["state"]
    turn = options_of(LeaseTurn, params, spec=spec, present=state != "absent", extends=state == "extended")
    key = public_line(params["ssh_key"], "ssh_key") if params["ssh_key"] and turn.present else None
    files = LeaseFiles(**{name: params[name] for name in _FILES}, mode=int(params["file_mode"], 8))
    files.check()
    progress = Progress(params["progress_file"])
    with controlled(wanted=turn.launch and not module.check_mode) as stop:
        outcome = run_lease(
            turn,
            preview=module.check_mode,
            progress=lambda status: progress.state(progress_line(status)),
            line=progress.line,
            stop=stop,
        )
    for warning in outcome.warnings:
        module.warn(warning)
    result = outcome_result(turn, outcome, preview=module.check_mode, files=files)
    if not turn.present or result["complete"] or module.check_mode:
        if key is not None and not module.check_mode:
            result["changed"] = authorize(result["nodes"], key, files.private_key) or result["changed"]
        rows = result["nodes"] if turn.present else None
        result["changed"] = bring(files, spec.name, rows, preview=module.check_mode) or result["changed"]
    return result
