# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Providers of other drivers are a warning of every module that reads the tree, until Nodepool's launcher has them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.ansible_run import run_alone
from tests.support.zookeeper_server import HOST, free_port

FOREIGN = "vm-PoolWorker.machines-main-62ee55d4b3414869b6b292a38d9f6cf0"
OURS = "stackci-PoolWorker.pods-main-0123456789abcdef"
NO_CLOUDS: dict[str, Any] = {"ask_clouds": False}
TEXT = "providers[{}]: has the driver {}"
MODULES: dict[str, dict[str, Any]] = {
    "node_info": {},
    "request_info": {},
    "lease_info": {},
    "provider_info": NO_CLOUDS,
    "label_info": NO_CLOUDS,
    "usage_info": {},
    "nodepool_status": {},
    "dib_image_info": {},
    "image_info": NO_CLOUDS,
    "alien_image_info": {"providers": ["west"]},
    "throttle": {"provider": "west", "kind": "freeze"},
    "dib_image": {"image": "debian", "build_id": "0000000001", "state": "approved"},
    "provider": {"name": "west", "state": "absent", "force": True},
    "image_data": {"state": "exported", "path": "images.json"},
    "dib_build": {},
    "image_upload": {},
    "leak_cleanup": {"kinds": ["port"], "clouds_config": "clouds.yaml"},
    "node_launch": {"strict_check": False},
    "nodepool_request": {"name": "mine", "labels": ["small"]},
}
"""Module → its options. Those that act run in check mode."""


def run(module: str, folder: Any, settings: Any) -> Any:
    server = settings.servers[0]
    pool = {"name": "main", "max-servers": 4, "labels": [{"name": "small", "diskimage": "debian", "min-ram": 2048}]}
    document = {
        "zookeeper-servers": [{"host": HOST, "port": server.port, "chroot": server.chroot}],
        "images-dir": str(folder / "images"),
        "labels": [{"name": "small"}],
        "diskimages": [{"name": "debian"}],
        "providers": [
            {"name": "west", "cloud": "west", "diskimages": [{"name": "debian"}], "pools": [pool]},
            {"name": "machines", "driver": "static", "pools": [{"name": "main", "nodes": []}]},
            {"name": "pods", "driver": "kubernetes", "pools": [{"name": "main", "labels": []}]},
        ],
    }
    auth = {"auth_url": f"http://{HOST}:{free_port()}/v3", "username": "u", "password": "p", "project_name": "p"}
    (folder / "clouds.yaml").write_text(json.dumps({"clouds": {"west": {"auth": auth}}}), "utf-8")
    (folder / "images").mkdir(exist_ok=True)
    (folder / "nodepool.yaml").write_text(json.dumps(document), "utf-8")
    return run_alone(module, {"config": "nodepool.yaml", **MODULES[module]}, folder, check=True).result


def register(client: Any, provider: str, ident: str) -> None:
    fields = {"id": ident, "provider_name": provider, "name": "main", "supported_labels": ["small"], "hostname": "vm"}
    document = {**fields, "kind": "pool", "state": "running", "paused": False, "priority": 100, "model_api": 0}
    path = "/nodepool/components/pool/vm"
    client.create(path, json.dumps(document).encode(), makepath=True, ephemeral=True, sequence=True)


@pytest.mark.parametrize("module", MODULES)
def test_what_nodepools_launcher_works_on_is_no_warning(module, tmp_path, zk_chroot, zk_client):
    register(zk_client, "machines", FOREIGN)
    register(zk_client, "pods", OURS)  # a launcher of this collection cannot serve it
    result = run(module, tmp_path, zk_chroot)
    told = str(result.get("warnings"))
    assert told.count(TEXT.format("pods", "kubernetes")) == 1, result
    assert TEXT.format("machines", "static") not in told


def test_without_its_launcher_it_is_one(tmp_path, zk_chroot, zk_client):
    register(zk_client, "west", "vm-PoolWorker.west-main-1")
    told = str(run("node_info", tmp_path, zk_chroot).get("warnings"))
    assert told.count("has the driver") == 2, told
