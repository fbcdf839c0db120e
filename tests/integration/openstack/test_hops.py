# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dead proxy of the environment is told, and not the cloud behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable


@pytest.mark.parametrize("url", ["http://cloud.invalid:5000/v3", "https://cloud.invalid:5000/v3"])
def test_a_dead_proxy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://me:sesame-42-open@127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    auth = {
        "auth_url": url,
        "username": "u",
        "password": "p-w-1",
        "project_name": "ci",
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    path = tmp_path / "clouds.yaml"
    path.write_text(json.dumps({"clouds": {"east": {"auth": auth}}}), encoding="utf-8")
    with pytest.raises(CloudUnavailable) as caught:
        CloudClient(Provider("p1", "east", rate=0.0), clouds_config=str(path)).limits()
    said = str(caught.value)
    assert "the proxy 127.0.0.1:9 on the way to cloud.invalid:5000 cannot be used: it refused the connection" in said
    assert "sesame" not in said and not caught.value.unclear
