# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets plays share the modules that Ansible has packed, in the folder that SHARE_PACKED names.

Ansible packs each module once for each ``ansible-playbook`` by reading the imports of some sixty files: up to a quarter
of a second, more than most modules need. The plays that share a folder must have the same collections. An ansible-core
that keeps what it has packed in another place packs it again.
"""

from __future__ import annotations

import os

from ansible import constants as C  # noqa: N812
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: share_packed
type: aggregate
short_description: Shares packed modules between plays
description: Used by tests.
"""


class CallbackModule(CallbackBase):
    """Puts a link to the folder in the place where Ansible keeps what it has packed."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "share_packed"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        os.makedirs(os.environ["SHARE_PACKED"], exist_ok=True)
        os.symlink(os.environ["SHARE_PACKED"], os.path.join(C.DEFAULT_LOCAL_TMP, "ansiballz_cache"))
