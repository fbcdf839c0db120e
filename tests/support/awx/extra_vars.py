# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file in which AWX gives a job its variables (``awx/main/utils/safe_yaml.py``): each text is tagged ``!unsafe``.

ansible-core 2.19 and later looks again at what such a text may be, in spite of its quotes: 0000000010 is the number 8,
1.10 is 1.1, and an empty text is null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

JOB = {"awx_job_id": 7, "tower_job_id": 7, "awx_job_launch_type": "manual"}
"""Some of what AWX adds to the variables of each job."""


class _Dumper(yaml.SafeDumper):
    """Writes texts as AWX does."""


def _unsafe(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("!unsafe", text, style="'")


_Dumper.add_representer(str, _unsafe)


def written(variables: Mapping[str, Any]) -> str:
    """The text of the file."""
    # AWX keeps them as JSON, in which nothing of what Ansible adds to a text or a number is left.
    kept = json.loads(json.dumps({**variables, **JOB}))
    return yaml.dump(kept, Dumper=_Dumper, default_flow_style=False)
