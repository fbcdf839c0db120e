# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person leases: with a key of one's own, until six, longer, and others see who and what for."""

from __future__ import annotations

import getpass
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.request.conftest import Site
from tests.support.ansible_run import run_alone
from tests.support.simcloud_process import SimCloud, default_cloud

NETWORK = {"name": "public", "external": True, "shared": True}


def expiry(site: Site) -> float:
    (node,) = site.launcher.documents("nodes").values()
    return float(node["state_time"] + node["hold_expiration"])


def test_until_extended_and_who_and_why_are_told(site: Site) -> None:
    site.launcher.work()
    site.request(labels=["small"], until="2126-01-01 18:00", owner="alice", reason="bisects the boot failure")
    (node,) = site.launcher.documents("nodes").values()
    assert node["comment"].startswith(
        "alice (bisects the boot failure): leased by stackci.nodepool.nodepool_request for"
    )
    assert abs(expiry(site) - time.mktime((2126, 1, 1, 18, 0, 0, 0, 0, -1))) < 5

    shown = run_alone("lease_info", {"config": str(site.config), "require_launcher": False}, site.folder).result
    assert [(row["owner"], row["reason"]) for row in shown["leases"]] == [("alice", "bisects the boot failure")]
    screen = run_alone("nodepool_status", {"config": str(site.config), "require_launcher": False}, site.folder).result
    assert any("web: 1 of 1 node" in line and "alice: bisects the boot failure" in line for line in screen["lines"])

    planned = site.request(state="extended", expires=600, check=True, diff=True).result
    (before,), (after,) = (planned["diff"][when]["nodes"].values() for when in ("before", "after"))
    assert before.startswith("until 2126-01-01T") and after < before
    assert planned["changed"] and expiry(site) > time.time() + 7200
    longer = site.request(state="extended", expires=600).result
    assert longer["changed"] and longer["complete"] and abs(expiry(site) - time.time() - 600) < 60
    assert longer["nodes"][0]["expires_at"] == pytest.approx(expiry(site))
    again = "2126-01-01 18:00"
    assert site.request(state="extended", until=again).result["changed"]
    assert not site.request(state="extended", until=again).result["changed"], "the same time is no change"
    assert site.request(labels=["small"], until=again).result["nodes"][0]["id"] == longer["nodes"][0]["id"]


def test_what_cannot_be_extended_is_told(site: Site) -> None:
    assert "does not exist: ask for the nodes first" in site.request(state="extended").result["msg"]
    site.request(labels=["small"], wait=False)
    assert "is not complete" in site.request(state="extended").result["msg"]
    site.launcher.work()
    assert site.request(labels=["small"]).result["complete"]
    assert expiry(site)
    (lease,) = site.launcher.documents("stackci/leases").values()
    assert lease["owner"] == getpass.getuser()
    site.config.write_text(site.config.read_text() + "max-hold-age: 60\n")
    assert (
        "max-hold-age of the configuration releases node" in site.request(state="extended", expires=600).result["msg"]
    )
    assert "give a time such as '18:00'" in site.request(state="extended", until="six").result["msg"]
    assert (
        "this is a private key" in site.request(labels=["small"], ssh_key="-----BEGIN PRIVATE KEY-----").result["msg"]
    )


def make_key(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=60)
    return Path(f"{path}.pub").read_text("utf-8").strip()


def test_a_persons_key_is_on_new_and_on_spare_nodes(site: Site, tmp_path: Path) -> None:
    pool, mine = tmp_path / "pool", tmp_path / "mine"
    make_key(pool)
    public = make_key(mine)
    guests = {"mode": "each", "authorized_keys": f"{pool}.pub"}
    boot = {"kind": "fixed", "value": 0.3}
    with SimCloud(default_cloud("east", guests=guests, boot=boot, networks=[NETWORK])) as cloud:
        _write_provider(site, cloud.ssh_port("east"))
        options: dict[str, Any] = {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 60}
        options |= {"config": str(site.config)}
        launched = {"config": str(site.config), "clouds_config": str(cloud.clouds_yaml), "duration": 60}
        assert run_alone("node_launch", launched, site.folder).result["summary"], "one spare node is ready"
        files = {"ssh_config": str(tmp_path / "ssh_config"), "known_hosts": str(tmp_path / "known_hosts")}
        wish = {"labels": ["small", "small"], "ssh_key": public, **files, **options}
        refused = site.request(**wish, private_key=str(mine)).result
        assert (
            refused["failed"]
            and "could not be put on node" in refused["msg"]
            and "correct private_key" in refused["msg"]
        )
        leased = site.request(**wish, private_key=str(pool)).result
        assert leased.get("complete"), leased
        assert not site.request(**wish, private_key=str(pool)).result["changed"]
        for node in leased["nodes"]:
            command = ["ssh", "-F", files["ssh_config"], "-o", f"IdentityFile={mine}", "-o", "BatchMode=yes"]
            ran = subprocess.run(
                [*command, node["hostname"], "cat ~/.ssh/authorized_keys"],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert public in ran.stdout, ran.stderr
        site.request(**{"state": "absent", **options, **files})
        assert not Path(files["ssh_config"]).exists()
        gone = {node["external_id"] for node in leased["nodes"]}
        assert not gone & {server["id"] for server in cloud.servers("east")}


def _write_provider(site: Site, port: int) -> None:
    user = getpass.getuser()
    provider = (
        "providers:\n"
        "  - name: east\n"
        "    cloud: east\n"
        "    rate: 0.02\n"
        "    cloud-images:\n"
        f"      - {{name: debian-12, connection-port: {port}, username: {user}}}\n"
        "    pools:\n"
        "      - name: main\n"
        "        max-servers: 3\n"
        "        networks: [public]\n"
        "        auto-floating-ip: false\n"
        "        labels:\n"
        "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
    )
    text = site.config.read_text("utf-8").replace("providers: []\n", provider)
    site.config.write_text(text.replace("{name: small}", "{name: small, min-ready: 1}"), "utf-8")
