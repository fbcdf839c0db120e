# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Buildkite's hooks, called in the order and the environment of its agent."""

from __future__ import annotations

from pathlib import Path

from tests.integration.ci.conftest import EXAMPLES, Pool

HOOKS = EXAMPLES / "buildkite" / "hooks"


def job(ci: Pool, command: str, **variables: str) -> tuple[int, str]:
    """A job: environment is sourced, command and pre-exit are run; pre-exit whatever happened."""
    checkout = ci.folder / "checkout"
    checkout.mkdir(exist_ok=True)
    Path(checkout, "Makefile").write_text("test:\n\t@echo tested $(CURDIR)\n")
    given = {
        "BUILDKITE_JOB_ID": "0190-7f",
        "BUILDKITE_COMMAND": command,
        "BUILDKITE_TIMEOUT": "10",
        "HOOKS": str(HOOKS),
    }
    agent = (
        'source "$HOOKS/environment"; "$HOOKS/command"; status=$?; nodepoolctl leases -o id; "$HOOKS/pre-exit"\n'
        "exit $status"
    )
    return ci.run("bash", "-c", agent, cwd=checkout, env={**given, **variables})


def test_a_job_on_a_fresh_node(ci: Pool) -> None:
    code, out = job(ci, 'make test\ntest -n "$SSH_CONNECTION"', NODEPOOL_LABEL="debian-12")
    assert code == 0, out
    assert "tested " in out and "buildkite-0190-7f" in out.splitlines()
    assert ci.leases() == []


def test_a_job_that_fails_has_its_own_exit_status(ci: Pool) -> None:
    assert job(ci, "exit 5", NODEPOOL_LABEL="debian-12")[0] == 5
    assert ci.leases() == []


def test_a_job_without_a_label_runs_on_the_agent(ci: Pool) -> None:
    code, out = job(ci, "echo ${SSH_CONNECTION:-here}")
    assert code == 0 and "here" in out.splitlines()
