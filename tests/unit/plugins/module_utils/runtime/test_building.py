# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of dib_build that cannot be combined."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import building
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.building import BUILD_ARGUMENTS


def problems(**given: Any) -> list[str]:
    """What is said of a task with these options."""
    defaults = {name: spec.get("default") for name, spec in BUILD_ARGUMENTS.items()}
    return list(building._problems({**defaults, **given}))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"image_names": ["debian"], "force": True},
        {"image_names": ["debian"], "request": True, "pause": False},
        {"state": "absent", "build_id": "0d5ba3b1"},
        {"record": False, "image_names": ["debian"], "output_dir": "/images", "formats": ["qcow2"]},
    ],
)
def test_what_belongs_together_is_taken(given):
    assert problems(**given) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image_names": []}, "image_names is empty: add an image"),
        ({"record": False, "formats": ["../x"]}, "formats: '../x' is not a disk image format"),
        ({"state": "cleared", "force": True}, "state=cleared and force cannot be combined"),
        ({"request": True, "record": False}, "request and record=false cannot be combined"),
        ({"pause": True, "force": True}, "pause cannot be combined with force"),
        ({"build_id": "0d5ba3b1"}, "build_id is for state=absent"),
        ({"output_dir": "/images"}, "output_dir is for record=false: other builds go into images-dir"),
        ({"formats": ["raw"]}, "formats is for record=false"),
    ],
)
def test_what_does_not_is_told(given, said):
    (problem,) = problems(**given)
    assert problem.startswith(said)
