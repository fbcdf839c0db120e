# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of modules become options of cycles."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.state_folder import default_folder
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    UploadOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_options import (
    LauncherOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.arguments import options_of
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.launching import LAUNCH_ARGUMENTS
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.uploading import UPLOAD_ARGUMENTS

PACKAGE = "ansible_collections.stackci.nodepool.plugins.module_utils"
COLLECTIONS = Path(__file__).resolve().parents[5] / "playbooks" / "collections"


def params(arguments: dict[str, Any], **given: Any) -> dict[str, Any]:
    """What AnsibleModule makes of the options that a task gives."""
    return {name: spec.get("default") for name, spec in arguments.items()} | given


def test_options_of_the_same_name_are_taken_over():
    options = options_of(LauncherOptions, params(LAUNCH_ARGUMENTS, providers=["b", "a", "b"], duration=7.0))
    assert (options.providers, options.duration, options.until) == (("b", "a"), 7.0, "settled")
    assert options.config == "/etc/nodepool/nodepool.yaml"


def test_without_a_state_dir_it_is_that_of_the_user_and_an_empty_one_turns_it_off():
    assert options_of(LauncherOptions, params(LAUNCH_ARGUMENTS)).state_dir == default_folder()
    assert options_of(LauncherOptions, params(LAUNCH_ARGUMENTS, state_dir="")).state_dir == ""


def test_the_defaults_of_a_module_are_those_of_its_cycle():
    uploads = options_of(UploadOptions, params(UPLOAD_ARGUMENTS, state_dir=""), side_by_side=2)
    assert uploads == UploadOptions(config="/etc/nodepool/nodepool.yaml", state_dir="")
    launcher = options_of(LauncherOptions, params(LAUNCH_ARGUMENTS, state_dir=""))
    assert launcher == LauncherOptions(config="/etc/nodepool/nodepool.yaml", state_dir="")


def test_all_problems_are_told_at_once():
    given = params(UPLOAD_ARGUMENTS, duration=-1.0, hook_timeout=0.0, uploads_per_provider=0)
    with pytest.raises(ConfigError) as caught:
        options_of(UploadOptions, given, ["upload_id is for state=absent"])
    assert caught.value.problems == [
        "duration is -1: give the seconds to run, 0 or more",
        "uploads_per_provider is 0: give 1 or more",
        "hook_timeout is 0: give seconds, more than 0",
        "upload_id is for state=absent",
    ]


def test_what_is_no_number_is_out_of_every_range():
    """A cycle whose duration is nan would never come to its end."""
    given = params(UPLOAD_ARGUMENTS, duration=math.nan, hook_timeout=math.nan)
    with pytest.raises(ConfigError) as caught:
        options_of(UploadOptions, given)
    assert caught.value.problems == [
        "duration is nan: give the seconds to run, 0 or more",
        "hook_timeout is nan: give seconds, more than 0",
    ]


@pytest.mark.parametrize("module", ["leasing", "looking"])
def test_a_module_that_asks_no_cloud_does_not_import_openstacksdk(module):
    program = f"import sys, {PACKAGE}.runtime.{module}; print('keystoneauth1' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(COLLECTIONS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "False\n"
