# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder on a tree whose part of ours belongs to its account, by builder.yml."""

from __future__ import annotations

import json

import pytest
from kazoo.exceptions import NoAuthError

from tests.support.builder_case import image
from tests.support.builder_playbooks import BuilderHost

OWN = "/nodepool/stackci"


@pytest.mark.timeout(600)
def test_the_builder_works_with_its_account_and_ends_without(host: BuilderHost) -> None:
    host.configure(image("zebra"), takers=("one",))
    secure = host.site.folder / "secure.conf"
    account = {"username": "launcher", "password": "geheim", "protect": True}
    secure.write_text(json.dumps({"zookeeper-auth": account}), encoding="utf-8")
    ran = host.play("builder.yml", nodepool_secure_config=str(secure))
    assert ran.returncode == 0
    assert "1 image built, 1 uploaded" in ran.stdout
    assert "geheim" not in ran.stdout
    client, waiting, ours = host.site.requestor.client, [OWN], 0
    while waiting:
        path = waiting.pop()
        if path.startswith(f"{OWN}/lease"):
            continue
        waiting += [f"{path}/{name}" for name in host.site.requestor.children(path)]
        ours += 1
        with pytest.raises(NoAuthError):
            client.set(path, b"{}")
    assert ours > 3
    anonymous = host.play("builder.yml")
    assert anonymous.returncode != 0
    assert "can only be changed by digest:launcher" in " ".join((anonymous.stdout + anonymous.stderr).split())
