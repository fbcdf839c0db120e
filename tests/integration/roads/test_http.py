# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pipeline has curl and docs/ci/awx.md: its commands are run against an endpoint that answers like AWX."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader

from tests.integration.roads.conftest import Pool
from tests.support.ansible_run import ROOT
from tests.support.awx.jobs import Job
from tests.support.awx.server import TOKEN, AwxServer
from tests.support.awx.store import Awx
from tests.support.examples import blocks
from tests.support.fixtures_zookeeper import eventually

PAGE = ROOT / "docs" / "ci" / "awx.md"
OBJECTS = DataLoader().load_from_file(str(ROOT / "roles" / "awx" / "vars" / "objects.yml"))
QUESTIONS = OBJECTS["_awx_lease_survey"]
SURVEYS = {"lease": QUESTIONS, "release": [QUESTIONS[0], OBJECTS["_awx_failure_question"]]}


def post(awx: Awx, path: str, **body: Any) -> Any:
    status, answer = awx.answer("POST", f"/api/v2/{path}/", {}, body)
    assert status in (200, 201), answer
    return answer


def site_of_awx() -> tuple[Awx, dict[str, str]]:
    """AWX with the templates of the page, and their numbers as the page names them."""
    awx = Awx(["lease.yml", "release.yml"])
    project = post(
        awx, "projects", name="nodepool", organization=1, scm_type="git", scm_url="https://git.example.org/a"
    )
    awx.updates.look()
    inventory = post(awx, "inventories", name="localhost", organization=1)
    numbers = {}
    for name in ("lease", "release"):
        body = {"name": f"nodepool {name}", "playbook": f"{name}.yml", "survey_enabled": True}
        number = post(awx, "job_templates", **body, project=project["id"], inventory=inventory["id"])["id"]
        post(awx, f"job_templates/{number}/survey_spec", name="", description="", spec=SURVEYS[name])
        numbers[f"{name.upper()}_TEMPLATE"] = str(number)
    return awx, numbers


def test_nodes_by_curl(ci: Pool) -> None:
    awx, numbers = site_of_awx()
    said: list[str] = []

    def run(job: Job, playbook: str, variables: dict[str, Any]) -> None:
        code, job.artifacts, out = ci.awx_job(Path(playbook).stem, **variables)
        said.append(out)
        job.status = "failed" if code else "successful"

    with ThreadPoolExecutor() as pool, AwxServer(awx) as server:
        awx.run = lambda *given: pool.submit(run, *given)
        (ci.folder / "token.header").write_text(f"Authorization: Bearer {TOKEN}\n")
        script = "\n".join(["set -euo pipefail", *blocks(PAGE, "shell")])
        code, out = ci.run("bash", "-c", script.replace("https://awx.example.org", server.url), env=numbers)
        assert code == 0, out + "\n".join(said)
        status, rest = out.split("\n", 1)
        nodes, _end = json.JSONDecoder().raw_decode(rest)
        assert status == '"successful"' and [node["label"] for node in nodes] == ["debian-12", "debian-12"]
        assert eventually(lambda: not ci.leases(), 60)
    assert [job.status for job in awx.jobs.all.values() if job.type == "job"] == ["successful"] * 2, said
    missing = [f"'{name}' value missing" for name in ("lease_name", "lease_labels")]
    refused = awx.answer("POST", f"/api/v2/job_templates/{numbers['LEASE_TEMPLATE']}/launch/", {}, {})
    assert refused == (400, {"variables_needed_to_start": missing})


def test_a_pipeline_reads_why_awx_refuses_its_answers(ci: Pool) -> None:
    awx, numbers = site_of_awx()
    (begin, launch) = next(blocks(PAGE, "shell")).split("\n\n")[:2]
    asked = launch.split("\nuntil ")[0].replace('"build-7"', '"build-7", "lease_expires": "3600"')
    assert "3600" in asked
    with AwxServer(awx) as server:
        (ci.folder / "token.header").write_text(f"Authorization: Bearer {TOKEN}\n")
        script = "\n".join(["set -euo pipefail", begin.replace("https://awx.example.org", server.url), asked])
        code, out = ci.run("bash", "-c", script, env=numbers)
    assert code != 0 and "Value 3600 for 'lease_expires' expected to be an integer." in out
