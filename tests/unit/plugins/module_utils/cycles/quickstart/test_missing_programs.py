# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is missing is told in one message."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.missing_programs import (
    LIBRARIES,
    check_needs,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

ROOT = Path(__file__).resolve().parents[6]


def test_the_lines_are_those_of_the_requirements() -> None:
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    assert set(LIBRARIES.values()) <= {line for line in lines if not line.startswith("#")}


def test_one_message_with_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/new comer/v/bin/python3")
    check_needs(lambda name: name, lambda name: name)
    with pytest.raises(ConfigError) as caught:
        check_needs(lambda name: None, lambda name: None)
    libraries, ssh = str(caught.value).splitlines()
    assert re.search(r"has no asyncssh, jsonschema, kazoo, openstacksdk, PyYAML\. Run: ", libraries)
    assert libraries.endswith(
        "Run: '/new comer/v/bin/python3' -m pip install 'asyncssh>=2.14' 'jsonschema>=4.10' 'kazoo>=2.9.0,<2.12'"
        " 'openstacksdk>=4.0.0' 'PyYAML>=6.0'"
    )
    assert "apt-get install openssh-client" in ssh
