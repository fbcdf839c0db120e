# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GitLab's custom executor: its programs are called as GitLab Runner calls them.

The contract is that of https://docs.gitlab.com/runner/executors/custom: the stages, the variables with the prefix
CUSTOM_ENV_, the two exit codes, and job_env of the configuration in the environment of all later programs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ci.conftest import EXAMPLES, Pool
from tests.support.fixtures_zookeeper import eventually

GITLAB = EXAMPLES / "gitlab"
BUILD, SYSTEM = 41, 42


class Runner:
    """Stands for GitLab Runner and one job."""

    def __init__(self, ci: Pool, job: int, **variables: str) -> None:
        self.ci = ci
        self.environment = {
            "BUILD_FAILURE_EXIT_CODE": str(BUILD),
            "SYSTEM_FAILURE_EXIT_CODE": str(SYSTEM),
            "BUILD_EXIT_CODE_FILE": str(ci.folder / "exit-code"),
            "TMPDIR": str(ci.folder),
            **{f"CUSTOM_ENV_{name}": value for name, value in {"CI_JOB_ID": str(job), **variables}.items()},
        }

    def configure(self) -> dict[str, Any]:
        code, out = self.ci.run(GITLAB / "config.sh", env=self.environment)
        assert code == 0, out
        answer: dict[str, Any] = json.loads(out)
        self.environment |= answer["job_env"]
        return answer

    def call(self, name: str, *words: str | Path) -> tuple[int, str]:
        return self.ci.run(GITLAB / f"{name}.sh", *words, env=self.environment)

    def script(self, stage: str, text: str) -> tuple[int, str]:
        path = self.ci.folder / f"script-{stage}"
        path.write_text(f"set -eo pipefail\n{text}\n")
        return self.call("run", path, stage)


def test_a_job_from_its_configuration_to_its_end(ci: Pool) -> None:
    runner = Runner(ci, 7, CI_JOB_IMAGE="debian-12", CI_JOB_TIMEOUT="900")
    answer = runner.configure()
    assert {"builds_dir", "cache_dir", "driver", "job_env"} <= {*answer}
    assert runner.call("prepare")[0] == 0
    (lease,) = ci.leases()
    assert lease.startswith("gitlab-7-")
    place = f"{ci.folder}/on-the-node"
    for stage, text in (
        ("prepare_script", "echo Running on $(uname -s)"),
        ("get_sources", f"mkdir -p {place}"),
        ("restore_cache", "true"),
        ("download_artifacts", "true"),
    ):
        assert runner.script(stage, text)[0] == 0, stage
    code, out = runner.script("step_script", f'cd {place}; echo "${{SSH_CONNECTION:-none}}"; echo done >result')
    assert code == 0 and "none" not in out
    assert Path(place, "result").read_text() == "done\n"
    code, _out = runner.script("step_script", "exit 3")
    assert (code, Path(runner.environment["BUILD_EXIT_CODE_FILE"]).read_text()) == (BUILD, "3\n")
    for stage in ("after_script", "archive_cache_on_failure", "upload_artifacts_on_failure", "cleanup_file_variables"):
        assert runner.script(stage, "true")[0] == 0, stage
    assert runner.call("cleanup")[0] == 0
    assert ci.leases() == []
    assert ci.empty()
    assert runner.script("step_script", "true")[0] == SYSTEM, "the node is gone"
    assert runner.call("cleanup")[0] == 0, "it may be called again"


def config(ci_job_id: str) -> dict[str, Any]:
    """What config.sh answers."""
    given = {**os.environ, "CUSTOM_ENV_CI_JOB_ID": ci_job_id}
    done = subprocess.run([GITLAB / "config.sh"], env=given, check=True, capture_output=True, timeout=60)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_job_that_takes_the_number_of_another_one_does_not_get_its_nodes() -> None:
    """A job can set the predefined variables in its own file: https://docs.gitlab.com/runner/executors/custom/#job-response."""
    mine, theirs = (config("7")["job_env"]["NODEPOOL_LEASE"] for _job in range(2))
    assert mine != theirs and mine.startswith("gitlab-7-")


def test_the_text_of_a_variable_is_neither_configuration_nor_a_command(ci: Pool) -> None:
    odd = config('7", "BASH_ENV": "/tmp/x\ny\\')
    assert set(odd["job_env"]) == {"NODEPOOL_LEASE"} and odd["job_env"]["NODEPOOL_LEASE"].startswith("gitlab-7-")
    assert len(config("7" * 200)["job_env"]["NODEPOOL_LEASE"]) <= 128
    proof = ci.folder / "ran"
    runner = Runner(ci, 7, CI_JOB_IMAGE="debian-12", CI_JOB_TIMEOUT=f"a[$(touch {proof})]")
    runner.configure()
    code, out = runner.call("prepare")
    assert code == BUILD and "no number of seconds" in out and not proof.exists()


def test_a_configuration_that_cannot_be_used_is_not_the_jobs_fault(ci: Pool) -> None:
    runner = Runner(ci, 7, CI_JOB_IMAGE="debian-12")
    runner.configure()
    wrong = ci.folder / "wrong.yaml"
    wrong.write_text("labels: 5\n")
    runner.environment["NODEPOOL_CONFIG"] = str(wrong)
    assert runner.call("prepare")[0] == SYSTEM


def test_nothing_is_released_when_the_configuration_of_the_job_failed(ci: Pool) -> None:
    code, out = Runner(ci, 7).call("cleanup")
    assert (code, out) == (0, "")


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({}, BUILD),
        ({"CI_JOB_IMAGE": " "}, BUILD),
        ({"CI_JOB_IMAGE": "nowhere"}, BUILD),
        ({"CI_JOB_IMAGE": "--help"}, BUILD),
    ],
)
def test_a_job_without_a_usable_label_is_the_jobs_fault(variables, code, ci: Pool) -> None:
    runner = Runner(ci, 8, **variables)
    runner.configure()
    assert runner.call("prepare")[0] == code
    assert runner.call("cleanup")[0] == 0
    assert ci.leases() == []


def test_a_job_that_is_canceled_while_it_waits(ci: Pool) -> None:
    """GitLab Runner sends SIGTERM to the process group, later SIGKILL, and then calls cleanup_exec."""
    ci.site.cloud.quota(instances=0)
    try:
        runner = Runner(ci, 9, CI_JOB_IMAGE="debian-12")
        runner.configure()
        with ci.popen(GITLAB / "prepare.sh", env=runner.environment) as process:
            eventually(lambda: ci.site.requestor.children("/nodepool/requests"))
            os.killpg(process.pid, signal.SIGTERM)
            assert process.wait(60) != 0
        assert runner.call("cleanup")[0] == 0
        assert ci.leases() == [] and ci.site.requestor.children("/nodepool/requests") == []
    finally:
        ci.site.cloud.quota(instances=20)


def test_a_runner_that_dies_loses_its_node_when_the_lease_expires(ci: Pool) -> None:
    runner = Runner(ci, 10, CI_JOB_IMAGE="debian-12", CI_JOB_TIMEOUT="3")
    runner.environment["NODEPOOL_MARGIN"] = "2"
    runner.configure()
    assert runner.call("prepare")[0] == 0
    with ci.popen(GITLAB / "run.sh", "/dev/stdin", "step_script", env=runner.environment) as process:
        ci.kill(process)
    assert ci.empty(), "nobody has called cleanup.sh"


def test_configuration_and_key_reach_the_programs() -> None:
    """GitLab Runner hands its own environment on; what config.toml has in environment becomes CUSTOM_ENV_ variables."""
    (runner,) = tomllib.loads((GITLAB / "config.toml").read_text("utf-8"))["runners"]
    assert "environment" not in runner
    unit = (GITLAB / "gitlab-runner.conf").read_text("utf-8").splitlines()
    given = dict(line.removeprefix("Environment=").split("=", 1) for line in unit if line.startswith("Environment="))
    assert set(given) == {"NODEPOOL_CONFIG", "NODEPOOL_SSH_KEY"}
