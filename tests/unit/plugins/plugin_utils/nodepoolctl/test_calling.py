# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The function of a module is called as the module would call it."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import leasing
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.calling import call
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.commands import LEASE


def test_options_get_the_modules_defaults_and_types(monkeypatch):
    seen = {}

    def lease(module):
        seen.update(module.params)
        module.warn("careful")
        progress = Progress(module.params["progress_file"])
        progress.line("first line")
        progress.line("second line")
        return {"changed": not module.check_mode}

    monkeypatch.setattr(leasing, "lease", lease)
    said: list[str] = []
    lines: list[str] = []
    options = {"name": "web", "labels": ["small"], "timeout": "5", "output": "json", "config": "~/x"}
    assert call(LEASE, options, said.append, lines.append) == {"changed": True}
    assert (seen["timeout"], seen["expires"], seen["state"]) == (5, 7200, "present")
    assert "output" not in seen and not seen["config"].startswith("~")
    assert (said, lines) == (["careful"], ["first line", "second line"])


def test_what_the_module_refuses_is_a_wrong_argument():
    with pytest.raises(ConfigError, match="labels"):
        call(LEASE, {"name": "web"}, print)
