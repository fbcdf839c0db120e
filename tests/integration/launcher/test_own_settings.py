# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of nodepool-settings.yaml, from the file to the create call and the hosts of the servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.config_check import check_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.ansible_run import ROOT, command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.simcloud_process import SimCloud, default_cloud

GROUPS = [
    {"name": "spread"},
    {"name": "together", "policy": "affinity"},
    {"name": "twice"},
    {"name": "twice", "id": "0a7c5c1e-5b5d-4a0e-9a51-6d4a1f0a9b11"},
]
BY_ID = GROUPS[3]["id"]
NAMES = ("groups", "hints", "members", "hosts", "check", "times", "guests", "read")


@pytest.fixture(scope="module")
def sim() -> Iterator[SimCloud]:
    documents: dict[str, Any] = {}
    for name in NAMES:
        more = {"guests": {"mode": "each"}} if name == "guests" else {}
        documents |= default_cloud(
            name, boot=0.15, delete=0.0, quota_race=0.02, server_groups=GROUPS, azs=["az1"], **more
        )
    with SimCloud(documents) as running:
        yield running


def use(site: Site, sim: SimCloud, name: str, **options: Any) -> Cloud:
    """Let provider one be that cloud, with three labels, two of which have the same flavor."""
    cloud = site.use_cloud(Cloud(sim, name))
    labels = [label("small"), label("medium"), label("alike", flavor_name="small")]
    site.configure(provider("one", pool("main", *labels, **options)))
    return cloud


def write(site: Site, in_pool: dict[str, Any] | None = None, **labels: dict[str, Any]) -> None:
    """Write the settings of labels, and of the label small in the pool."""
    document: dict[str, Any] = {"labels": [{"name": name, **options} for name, options in labels.items()]}
    if in_pool is not None:
        pools = [{"name": "main", "labels": [{"name": "small", **in_pool}]}]
        document["providers"] = [{"name": "one", "pools": pools}]
    site.config.with_name(f"{site.config.stem}-settings.yaml").write_text(json.dumps(document), "utf-8")


def ready(site: Site, name: str) -> str:
    """A request for one node of a label; it is served."""
    request: str = site.requestor.ask(name)
    site.requestor.wait_for(request)
    return request


def waits(site: Site, request: str, words: str) -> None:
    """Until the reason why a request waits has these words."""
    path = f"/nodepool/stackci/waits/{request}"
    eventually(lambda: words in str((site.requestor.read(path) or {}).get("text", "")))


def test_the_servers_of_a_label_join_its_group_and_its_policy_counts(site: Site, sim: SimCloud):
    cloud = use(site, sim, "groups")
    write(site, small={"server-group": "spread"}, alike={"server-group": BY_ID})
    requests = [site.requestor.ask(name) for name in ("small", "small", "small", "alike", "medium")]
    site.run()
    assert [site.requestor.state(request) for request in requests] == ["fulfilled"] * 5
    labels: dict[str, list[dict[str, Any]]] = {}
    for server in cloud.servers():
        labels.setdefault(server["metadata"]["nodepool_node_label"], []).append(server)
    assert len({server["host"] for server in labels["small"]}) == 3
    assert len({server["hints"]["group"] for server in labels["small"]}) == 1
    assert [server["hints"] for name in ("alike", "medium") for server in labels[name]] == [{"group": BY_ID}, {}]


def test_hints_of_a_pools_label_replace_those_of_the_label(site: Site, sim: SimCloud):
    cloud = use(site, sim, "hints")
    site.requestor.ask("medium")
    site.run()
    (first,) = cloud.servers()
    write(
        site,
        {"scheduler-hints": {"same_host": first["id"]}},
        small={"scheduler-hints": {"different_host": first["id"]}},
    )
    site.requestor.ask("small")
    site.run()
    second = next(server for server in cloud.servers() if server["id"] != first["id"])
    assert (second["hints"], second["host"]) == ({"same_host": first["id"]}, first["host"])


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("members", {"quota": {"server_group_members": 1}}, "members of server group spread"),
        ("hosts", {"hosts": 1}, "hosts for small (server group spread)"),
    ],
)
def test_a_full_group_is_used_up_and_stops_nobody_else(site: Site, sim: SimCloud, name: str, limit: Any, words: str):
    cloud = use(site, sim, name)
    cloud.settings(**limit)
    write(site, small={"server-group": "spread"})
    with site.stay():
        ready(site, "small")
        second = site.requestor.ask("small")
        waits(site, second, words)
        ready(site, "alike")
        assert site.requestor.state(second) != "failed"
        cloud.settings(quota={"server_group_members": 5}, hosts=3)
        site.requestor.wait_for(second)


def test_a_group_that_cannot_be_resolved_is_told_by_all_and_costs_no_create(site: Site, sim: SimCloud):
    cloud = use(site, sim, "check")
    write(site, small={"server-group": "twice"}, medium={"server-group": "spred"})
    words = ("2 server groups are named 'twice' (", "has no server group named 'spred'; it offers spread")
    told = " ".join(check_config(site.options())["unusable"])
    assert all(text in told for text in words), told
    ran = command(
        "ansible-playbook", ROOT / "playbooks" / "launcher.yml", "-e", site.variables(), "--check", folder=site.folder
    )
    assert all(text in " ".join(ran.stdout.replace("\\n", " ").split()) for text in words), ran.stdout
    requests = {name: site.requestor.ask(name) for name in ("small", "medium", "alike")}
    site.run()
    assert {name: site.requestor.state(one) for name, one in requests.items()} == {
        "small": "failed",
        "medium": "failed",
        "alike": "fulfilled",
    }
    assert cloud.counts()["by_kind"]["POST /servers"] == 1


def test_a_label_has_time_outs_of_its_own(site: Site, sim: SimCloud):
    cloud = use(site, sim, "times")
    write(site, {"launch-timeout": 1})
    cloud.fault("POST /servers", "stuck_build", count=1)
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_for(request)
    assert cloud.counts()["by_kind"]["POST /servers"] == 2


def test_ssh_may_take_as_long_as_the_label_says(site: Site, sim: SimCloud):
    cloud = use(site, sim, "guests", host_key_checking=True)
    site.configure(provider("one", pool("main", label("small"), host_key_checking=True), launch_retries=1))
    write(site, small={"boot-timeout": 1})
    cloud.fault("POST /servers", "unreachable")
    request = site.requestor.ask("small")
    with site.stay():
        eventually(lambda: site.requestor.state(request) == "failed")


def test_the_file_is_read_again_and_a_mistake_in_it_leaves_the_former_one_in_force(site: Site, sim: SimCloud):
    cloud = use(site, sim, "read")
    with site.stay() as cycle:
        ready(site, "small")
        write(site, small={"server-group": "together"})
        eventually(lambda: any("label small changed" in line for line in cycle.lines))
        ready(site, "small")
        write(site, smal={"server-group": "spread"})
        eventually(lambda: any("did you mean small?" in line for line in cycle.lines))
        ready(site, "small")
        write(site, smal={"server-group": "spread"})
    own, state = site.config.with_name("nodepool-settings.yaml"), str(site.folder / "state")
    write(site, small={"server-group": "spread"})
    check_config(site.options(state_dir=state), offline=True)
    site.run(state_dir=state)
    own.write_text("", "utf-8")
    with pytest.raises(ConfigError, match=r"nodepool-settings\.yaml: is empty, and it had options: restore it"):
        check_config(site.options(state_dir=state), offline=True)
    write(site, smal={"server-group": "spread"})
    first, *others = cloud.servers()
    assert first["hints"] == {} and len({server["hints"]["group"] for server in others}) == 1
    with pytest.raises(ConfigError, match=r"nodepool-settings\.yaml:1: labels"):
        check_config(site.options())
