# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of AWX's templates for pipelines: what they return as artifacts, which AWX takes from set_stats."""

from __future__ import annotations

from tests.integration.ci.conftest import Pool
from tests.support.ansible_run import ROOT
from tests.support.awx import extra_vars
from tests.support.examples import blocks


def test_a_pipeline_reads_the_hosts_from_the_job(ci: Pool) -> None:
    code, artifacts, out = ci.awx_job("lease", lease_name="build-7", lease_labels="debian-12", lease_expires=900)
    assert code == 0, out
    (node,) = artifacts["lease_nodes"]
    assert artifacts["lease_name"] == "build-7" and artifacts["lease_complete"] is True
    assert {*node} == {"id", "hostname", "label", "address", "port", "user", "host_keys", "expires_at"}
    assert node["host_keys"] and ci.leases() == ["build-7"]

    code, artifacts, out = ci.awx_job("extend", lease_name="build-7", lease_expires=5000)
    assert code == 0 and artifacts["lease_nodes"][0]["expires_at"] > node["expires_at"] + 3000, out

    code, artifacts, out = ci.awx_job("explain", id=node["id"])
    assert code == 0 and artifacts["status_lines"][0].startswith(f"node {node['id']}"), out
    assert ci.awx_job("status")[1]["status_lines"][0].startswith("ATTENTION")

    # In a workflow the artifacts of the lease are variables of the release, and a question that nobody answered is "".
    answers = {"lease_name": "build-7", "lease_labels": "debian-12", "lease_failure": ""}
    code, artifacts, out = ci.awx_job("release", **answers, lease_nodes=[node])
    assert code == 0 and artifacts["lease_nodes"] == [] and ci.leases() == [], out


def test_awx_passes_on_texts_that_look_like_numbers(ci: Pool) -> None:
    code, _artifacts, out = ci.awx_job("explain", id="0000000010")
    assert code != 0 and "no request, node or lease '0000000010'" in out, out
    for name in ("1.10", "0012", "yes"):
        code, _artifacts, out = ci.awx_job("lease", lease_name=name, lease_labels="debian-12")
        # Before ansible-core 2.19 they stay what they are.
        assert (code != 0 and "Begin it with a letter" in out) or ci.leases() == [name], out
        assert ci.awx_job("release", lease_name=name)[0] == code
    assert ci.leases() == []


def test_a_play_of_a_workflow_adds_the_nodes_as_hosts(ci: Pool) -> None:
    code, artifacts, out = ci.awx_job("lease", lease_name="build-6", lease_labels="debian-12")
    assert code == 0, out
    play = next(block for block in blocks(ROOT / "docs" / "ci" / "awx.md", "yaml") if "add_host" in block)
    variables = ci.folder / "artifacts.yml"
    variables.write_text(extra_vars.written(artifacts), encoding="utf-8")
    (ci.folder / "acceptance.yml").write_text(play)
    code, out = ci.run("ansible-playbook", "acceptance.yml", "-e", f"@{variables}")
    assert code == 0 and artifacts["lease_nodes"][0]["hostname"] in out, out


def test_a_release_after_a_failure_releases_and_then_fails(ci: Pool) -> None:
    assert ci.awx_job("lease", lease_name="build-9", lease_labels="debian-12")[0] == 0
    code, artifacts, out = ci.awx_job("release", lease_name="build-9", lease_failure="acceptance failed")
    assert code != 0 and "acceptance failed; the nodes were released" in out
    assert artifacts["lease_nodes"] == [] and ci.leases() == []


def test_a_job_that_gets_no_nodes_in_time_gives_everything_back(ci: Pool) -> None:
    # Somebody else uses all that there is. A quota of none would be refused as soon as the launcher has read it.
    ci.site.cloud.outsiders(2)
    ci.site.cloud.quota(instances=2)
    labels = "debian-12, debian-12"
    code, _artifacts, out = ci.awx_job("lease", lease_name="build-8", lease_labels=labels, lease_timeout=3)
    assert code != 0 and "everything was released" in out, out
    assert ci.leases() == []
