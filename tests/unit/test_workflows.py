# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workflows name targets of the Makefile and cells of the matrix that there are; each ansible-core is in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.matrix.cells import CELLS, SANITY

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in ROOT.glob(".github/workflows/*.yml")}
CORES = WORKFLOWS["cores"]["jobs"]


def commands() -> Iterator[str]:
    """All that the steps run."""
    for workflow in WORKFLOWS.values():
        for job in workflow["jobs"].values():
            yield from (step["run"] for step in job["steps"] if "run" in step)


def cells(job: dict[str, Any]) -> set[str]:
    """The cells of a job."""
    return set(job["strategy"]["matrix"]["cell"])


def test_what_is_made_can_be_made():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    wanted = {target for command in commands() for target in re.findall(r"^make ([a-z-]+)", command, re.MULTILINE)}
    assert {"test", "docs", "build", "test-matrix", "test-sanity"} <= wanted <= targets


def test_the_cells_are_those_of_the_matrix():
    assert cells(CORES["matrix"]) <= {cell.name for cell in CELLS}
    assert cells(CORES["sanity"]) == set(SANITY)


def test_every_ansible_core_has_a_cell():
    cores = {cell.name: cell.core for cell in CELLS if not (cell.needs or cell.named_by)}
    assert {cores[name] for name in cells(CORES["matrix"])} >= set(cores.values()) - {"ansible-core>=2.16.0"}
