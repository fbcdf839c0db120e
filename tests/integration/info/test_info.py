# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that show what is in the tree, with records in a real ZooKeeper; ``play`` is by Ansible's own command."""

from __future__ import annotations

import importlib
import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.ansible_run import MODULES, ROOT, command, run_alone, run_module
from tests.support.documented import differences
from tests.support.populated_tree import (
    BEHIND,
    BUILDING,
    DECLINED,
    HELD,
    IN_USE,
    NOT_JSON,
    PENDING,
    READY,
    WAITING,
    populate,
)
from tests.support.zookeeper_server import HOST, free_port

PLAYBOOKS = ROOT / "playbooks"
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "node_info": ("nodes", {"detail": True}),
    "request_info": ("requests", {}),
    "provider_info": ("providers", {}),
    "label_info": ("labels", {}),
    "lease_info": ("leases", {}),
    "nodepool_status": ("lines", {}),
}
"""Module → key of its rows, and the options with which it tells all of them."""


class Site:
    """A configuration that leads to a tree."""

    def __init__(self, folder, settings) -> None:
        self.folder, self.server = folder, settings.servers[0]
        self.chroot, self.port = self.server.chroot, self.server.port

    def run(self, module: str, runner: Callable[..., Any] = run_alone, **options: Any) -> Any:
        servers = [{"host": HOST, "port": self.port, "chroot": self.chroot}]
        document = {
            "zookeeper-servers": servers,
            "labels": [{"name": "small", "min-ready": 2}],
            "diskimages": [{"name": "debian"}],
            "providers": [
                {
                    "name": "west",
                    "cloud": "west",
                    "diskimages": [{"name": "debian"}],
                    "pools": [
                        {
                            "name": "main",
                            "max-servers": 4,
                            "labels": [{"name": "small", "diskimage": "debian", "min-ram": 2048}],
                        }
                    ],
                }
            ],
        }
        (self.folder / "nodepool.yaml").write_text(json.dumps(document), "utf-8")
        check = options.pop("check", False)
        return runner(module, {"config": "nodepool.yaml", **options}, self.folder, check=check).result


@pytest.fixture
def site(tmp_path, zk_chroot):
    return Site(tmp_path, zk_chroot)


@pytest.fixture
def full(site, zk_client):
    populate(lambda path, data: put(zk_client, path, data), time.time())
    return site


def put(client, path, data):
    """Make a znode, or fill one that was made as a parent."""
    if client.exists(path):
        client.set(path, data)
    else:
        client.create(path, data, makepath=True)


def tree(client, path="/"):
    """Every znode with its data."""
    found = {path: client.get(path)[0]}
    for name in client.get_children(path):
        found |= tree(client, f"{path.rstrip('/')}/{name}")
    return found


@pytest.mark.parametrize("module", ROWS)
def test_all_is_told_as_documented_and_nothing_is_written(module, full, zk_client):
    key, options = ROWS[module]
    before = tree(zk_client)
    result = full.run(module, run_module, **options)
    assert (result["failed"], result["changed"]) == (False, False)
    block = importlib.import_module(f"{MODULES}.{module}").RETURN
    shown = {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}
    assert differences(block, shown, check=False) == []
    assert len(result[key]) > 1
    assert full.run(module, check=True, **options)[key] != []
    assert tree(zk_client) == before


@pytest.mark.parametrize("module", ROWS)
def test_where_there_is_nothing_to_see_one_line_says_so(module, site, zk_client):
    chroot = site.chroot

    def said(**options):
        result = site.run(module, **options)
        assert result["failed"] and "exception" not in result
        assert "\n" not in result["msg"]
        return result["msg"]

    assert "the tree is empty: there is no /nodepool in chroot" in said()
    zk_client.create("/nodepool/nodes", makepath=True)
    assert said().startswith("no launcher is registered in this tree")
    assert not site.run(module, require_launcher=False)["failed"]
    site.chroot = "/nowhere/at/all"
    assert "has no chroot /nowhere/at/all: correct chroot" in said()
    assert not zk_client.exists("/nowhere")
    site.chroot, site.port = chroot, free_port()
    assert said().startswith("no connection to ZooKeeper within")


def test_nodes_by_filters_and_the_life_of_one(full):
    assert [row["id"] for row in full.run("node_info", states=["ready", "hold"])["nodes"]] == [READY, HELD]
    assert [row["id"] for row in full.run("node_info", labels=["big"], pools=["main"])["nodes"]] == [IN_USE]
    assert full.run("node_info", providers=["east"], older_than=10**6)["nodes"] == []
    assert full.run("node_info", ids=[NOT_JSON])["nodes"][0]["problems"] == ["it is not JSON"]
    result = full.run("node_info", ids=[BUILDING])
    (life,) = result["lives"]
    assert [step["step"] for step in life["steps"]][-2:] == ["created", "phase booting"]
    assert result["nodes"][0]["locked"]


def test_a_name_that_does_not_exist_is_told_with_the_nearest(full):
    told = full.run("node_info", ids=["3"], require_launcher=False)
    assert told["msg"] == f"ids: ZooKeeper has no node '3'; did you mean {HELD}?"
    assert "did you mean west?" in full.run("node_info", providers=["wets"])["msg"]
    assert "did you mean small?" in full.run("node_info", labels=["smal"])["msg"]


def test_requests_by_filters_and_one_explained(full):
    assert [row["id"] for row in full.run("request_info", states=["requested"], older_than=150)["requests"]] == [
        WAITING,
        BEHIND,
        DECLINED,
    ]
    result = full.run("request_info", ids=[PENDING, WAITING])
    waits, works = result["explanations"]
    assert (waits["waits_for"], waits["place"]) == ("2 instances needed, 1 left in west/main", 1)
    assert [node["phase"] for node in works["nodes"]] == ["booting"] and works["expected_seconds"] is not None
    assert f"did you mean {WAITING}?" in full.run("request_info", ids=["11"])["msg"]


def test_providers_labels_and_leases(full):
    (west,) = full.run("provider_info", providers=["west"])["providers"]
    assert (west["acting"], west["acted_for_by"], west["pools"][0]["paused"]) == (True, ["launcher1"], True)
    assert [freeze["resource"] for freeze in west["pools"][0]["freezes"]] == ["instances"]
    assert [row["label"] for row in full.run("label_info", providers=["north"])["labels"]] == ["arm"]
    (small,) = full.run("label_info", labels=["small"])["labels"]
    assert (small["min_ready"], small["free"], small["wanted"]) == (2, 1, 4)
    (debug,) = full.run("lease_info", names=["debug"], providers=["east"])["leases"]
    assert [node["state"] for node in debug["nodes"]] == ["hold", "gone"]
    assert "did you mean debug?" in full.run("lease_info", names=["debgu"])["msg"]
    assert "did you mean west?" in full.run("provider_info", providers=["wset"])["msg"]


def test_a_lease_is_explained_by_its_requests_and_its_nodes(full):
    lines = full.run("nodepool_status", id="debug")["lines"]
    assert lines[0] == "lease debug"
    starts = [line.split(":")[0] for before, line in itertools.pairwise(lines) if before == ""]
    assert starts == [f"request {PENDING}", f"node {HELD}"]
    assert full.run("nodepool_status", id="odd")["lines"] == ["lease odd: its requests and nodes are gone"]
    assert "did you mean debug?" in full.run("nodepool_status", id="debgu")["msg"]


def test_the_screen_and_the_explanation_by_playbook(full):
    full.run("nodepool_status")
    given = ["-e", "nodepool_config=nodepool.yaml"]
    done = command("ansible-playbook", PLAYBOOKS / "status.yml", *given, folder=full.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    screen = lines[lines.index("PROVIDERS (# ours, - others)") :]
    assert "    pool main: 1 building, 1 in-use, 1 ready, paused" in screen
    assert any(line.startswith(f"  1. {WAITING} (small, small) for 5 min") for line in screen)
    done = command("ansible-playbook", PLAYBOOKS / "explain.yml", *given, "-e", f"id={WAITING}", folder=full.folder)
    assert "  west/main: 2 instances needed, 1 left in west/main" in done.stdout.splitlines()
    done = command("ansible-playbook", PLAYBOOKS / "explain.yml", *given, "-e", f"id={BUILDING}", folder=full.folder)
    assert f"node {BUILDING}: building in west/main, labels small, locked" in done.stdout.splitlines()
    done = command("ansible-playbook", PLAYBOOKS / "explain.yml", *given, folder=full.folder)
    assert done.returncode != 0 and "id is empty: name a request, a node or a lease" in done.stdout + done.stderr
    done = command("ansible-playbook", PLAYBOOKS / "explain.yml", *given, "-e", "id=0000000077", folder=full.folder)
    assert done.returncode != 0 and "did you mean" in done.stdout + done.stderr
