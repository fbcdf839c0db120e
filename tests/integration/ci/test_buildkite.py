# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Buildkite's hooks, called in the order and the environment of its agent."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    assert "release" not in out, "there is nothing to release"


@pytest.mark.parametrize("minutes", ["false", "", "08"])
def test_a_step_without_a_time_out_has_a_lease_that_ends(minutes: str, ci: Pool) -> None:
    code, out = job(ci, "true", NODEPOOL_LABEL="debian-12", BUILDKITE_TIMEOUT=minutes)
    assert code == 0 and ci.leases() == [], out


def test_the_node_has_the_variables_of_the_job_but_not_the_token_of_the_agent(ci: Pool) -> None:
    given = {"BUILDKITE_BRANCH": "it's main", "MINE": "a\nb", "BUILDKITE_AGENT_ACCESS_TOKEN": "secret"}
    file = ci.folder / "env"
    file.write_text("".join(f'{name}="x"\n' for name in given) + 'NOT-A-NAME="x"\nUNSET="x"\n')
    command = 'cat\necho "branch $BUILDKITE_BRANCH, mine $MINE, token ${BUILDKITE_AGENT_ACCESS_TOKEN:-none}"'
    code, out = job(ci, command, NODEPOOL_LABEL="debian-12", BUILDKITE_ENV_FILE=str(file), **given)
    assert code == 0 and "branch it's main, mine a\nb, token none" in out, out


@pytest.mark.parametrize("label", ["debian-12", ""])
def test_a_script_need_not_be_executable(label: str, ci: Pool) -> None:
    checkout = ci.folder / "checkout"
    checkout.mkdir()
    (checkout / "my test.sh").write_text("#!/bin/sh\necho ran $0\n")
    code, out = job(ci, "my test.sh", NODEPOOL_LABEL=label, BUILDKITE_COMMAND_EVAL="false")
    assert code == 0 and "ran ./my test.sh" in out, out


def test_an_agent_that_may_run_scripts_only_runs_no_other_command(ci: Pool) -> None:
    code, out = job(ci, "echo free", BUILDKITE_COMMAND_EVAL="false")
    assert code == 1 and "scripts of the checkout only" in out
