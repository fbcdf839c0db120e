# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool_request where no launcher runs: the module launches, and deletes, by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.request.conftest import Site
from tests.support.simcloud_process import SimCloud, default_cloud

NETWORK = {"name": "public", "external": True, "shared": True}


@pytest.fixture
def cloud(site: Site) -> Iterator[SimCloud]:
    boot = {"kind": "fixed", "value": 0.3}
    with SimCloud(default_cloud("east", guests=True, boot=boot, networks=[NETWORK])) as running:
        with site.config.open("r+") as file:
            text = file.read().replace("providers: []\n", _provider(running.ssh_port("east")))
            file.seek(0)
            file.write(text)
        yield running


def _provider(port: int) -> str:
    return (
        "providers:\n"
        "  - name: east\n"
        "    cloud: east\n"
        "    rate: 0.02\n"
        "    cloud-images:\n"
        f"      - {{name: debian-12, connection-port: {port}}}\n"
        "    pools:\n"
        "      - name: main\n"
        "        max-servers: 2\n"
        "        networks: [public]\n"
        "        auto-floating-ip: false\n"
        "        labels:\n"
        "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
    )


def test_lease_and_release_without_a_launcher(site: Site, cloud: SimCloud) -> None:
    options: dict[str, Any] = {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 60}
    ran = site.play(labels=["small", "small"], **options)
    assert ran.result.get("complete"), ran.result
    assert len({node["address"] for node in ran.result["nodes"]}) == 2
    assert all(node["host_keys"] for node in ran.result["nodes"])
    assert "[nodepool_request] all 2 nodes ready" in ran.screen
    assert len(cloud.servers("east")) == 2
    again = site.request(labels=["small", "small"], **options).result
    assert not again["changed"]
    assert again["nodes"] == ran.result["nodes"]

    cloud.clear_calls("east")
    other = site.request(labels=["small"], **options).result
    assert other["failed"]
    assert "exists with" in other["msg"]
    assert cloud.calls("east") == [], "nothing is launched or deleted before a mistake is told"

    full = site.request(name="more", labels=["small"], **{**options, "timeout": 4}).result
    assert full["failed"]
    assert "1 instance needed, 0 left in east/main" in full["msg"]
    site.request(name="more", state="absent")

    gone = site.request(state="absent", **options).result
    assert gone["changed"]
    assert cloud.servers("east") == []
    assert site.launcher.documents("nodes") == {}


def test_label_that_nobody_offers_is_a_failure(site: Site, cloud: SimCloud) -> None:
    options: dict[str, Any] = {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 30}
    result = site.play(labels=["huge"], **options).result
    assert result["failed"]
    # It is not even asked for.
    assert "label 'huge' is neither in " in result["msg"] and "there are large, small" in result["msg"]
    assert site.launcher.documents("requests") == {}
