# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workflows name targets and cells that there are, each ansible-core is in one, and what they use is fixed."""

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


def steps() -> Iterator[dict[str, Any]]:
    """The steps of all jobs."""
    for workflow in WORKFLOWS.values():
        for job in workflow["jobs"].values():
            yield from job["steps"]


def commands() -> Iterator[str]:
    """All that the steps run."""
    yield from (step["run"] for step in steps() if "run" in step)


def used(action: str) -> list[dict[str, Any]]:
    """What each step that uses an action gives to it."""
    return [step.get("with", {}) for step in steps() if step.get("uses", "").startswith(f"{action}@")]


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


def test_an_action_is_named_by_its_commit_with_the_version_beside_it():
    """A tag can be moved, and what it names runs beside the key that signs releases. Dependabot proposes newer ones."""
    lines = [line for path in ROOT.glob(".github/workflows/*.yml") for line in path.read_text("utf-8").splitlines()]
    named = [line for line in lines if "uses:" in line]
    assert len(named) == len([step for step in steps() if "uses" in step]) > 0
    fixed = re.compile(r"uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")
    assert [line for line in named if not fixed.search(line)] == []
    watched = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    assert [entry["package-ecosystem"] for entry in watched] == ["github-actions"]


def test_what_a_job_runs_cannot_push():
    assert [given for given in used("actions/checkout") if given.get("persist-credentials") is not False] == []
    assert len(used("actions/checkout")) == len([job for workflow in WORKFLOWS.values() for job in workflow["jobs"]])
    wide = {name for name, workflow in WORKFLOWS.items() if "write" in str(workflow["permissions"])}
    assert wide == set()


def test_what_is_kept_of_a_run_is_kept_although_its_folder_is_hidden():
    kept = used("actions/upload-artifact")
    assert {given["path"] for given in kept} == {".build/log", ".build/docs/html"}
    assert [given for given in kept if given.get("include-hidden-files") is not True] == []
