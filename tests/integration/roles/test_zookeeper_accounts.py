# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration that the role zookeeper writes, and who reaches a ZooKeeper that has it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreDenied
from tests.support.ansible_run import ROOT, command
from tests.support.fixtures_zookeeper import settings_for
from tests.support.zookeeper_server import HOST, ZooKeeperServer

ROLE = ROOT / "roles" / "zookeeper"
PASSWORD = 'back\\slash "and" quotes'
ACCOUNT = types.ZooKeeperAuth("launcher", PASSWORD, scheme="sasl", protect=True)


class Configured(ZooKeeperServer):
    """A server with the files of the role."""

    def __init__(self, folder: Path, **variables: Any) -> None:
        super().__init__(tls=True, accounts={})
        self._folder = folder
        assert self.certificates is not None
        self._variables = {
            "zookeeper_client_port": self.port,
            "zookeeper_data_dir": str(self.directory / "data"),
            "zookeeper_tick_ms": 100,
            "zookeeper_secure_port": self.tls_port,
            "zookeeper_tls_ca": str(self.certificates.ca),
            "zookeeper_tls_pair": str(self.certificates.server_pair),
            "ansible_managed": "by Ansible",
            **variables,
        }

    def _config(self) -> str:
        (self._folder / "play.yml").write_text(json.dumps([self._play()]), encoding="utf-8")
        done = command("ansible-playbook", "play.yml", "-e", json.dumps(self._variables), folder=self._folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return (self._folder / "zoo.cfg").read_text("utf-8") + "4lw.commands.whitelist=*\n"

    def _command(self) -> list[str]:
        words = super()._command()
        (self.directory / "jaas.conf").write_bytes((self._folder / "jaas.conf").read_bytes())
        return words

    def _play(self) -> dict[str, Any]:
        return {
            "name": "Files",
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "vars_files": [str(ROLE / part / "main.yml") for part in ("defaults", "vars")],
            "tasks": [
                {
                    "name": "Write the files",
                    "ansible.builtin.template": {
                        "src": str(ROLE / "templates" / f"{name}.j2"),
                        "dest": str(self._folder / name),
                        "mode": "0600",
                    },
                }
                for name in ("zoo.cfg", "jaas.conf", "zookeeper.service")
            ],
        }


def with_tls(server: ZooKeeperServer) -> types.ZooKeeperSettings:
    assert server.certificates is not None
    assert server.tls_port is not None
    files = server.certificates
    tls = types.ZooKeeperTls(cert=str(files.client_cert), key=str(files.client_key), ca=str(files.ca))
    return types.ZooKeeperSettings((types.ZooKeeperServer(HOST, server.tls_port, "/ci"),), tls=tls)


def test_a_certificate_or_an_account_is_needed_where_the_role_requires_one(tmp_path):
    with Configured(tmp_path, zookeeper_accounts={"launcher": PASSWORD}, zookeeper_require_account=True) as server:
        plain = settings_for(server, "/ci")
        for settings in (with_tls(server), replace(plain, auth=ACCOUNT), replace(with_tls(server), auth=ACCOUNT)):
            with Store(settings) as store:
                store.requests.list()
                if settings.auth is not None:
                    store.protect()
                    store.own.put("freezes/a", {"x": 1})
        for nobody in (None, types.ZooKeeperAuth("launcher", PASSWORD), replace(ACCOUNT, password="x")):
            with pytest.raises(StoreDenied):
                Store(replace(plain, auth=nobody)).open()
        with Store(with_tls(server)) as zuul, pytest.raises(StoreDenied):
            zuul.own.put("freezes/a", {"x": 2})
    unit = (tmp_path / "zookeeper.service").read_text("utf-8")
    assert "-Djava.security.auth.login.config=/etc/zookeeper/nodepool/jaas.conf" in unit
    assert PASSWORD.split()[0] not in unit


def test_by_default_everyone_on_the_host_reaches_the_plain_port(tmp_path):
    with (
        Configured(tmp_path, zookeeper_accounts={"launcher": PASSWORD}) as server,
        Store(settings_for(server)) as store,
    ):
        store.own.put("freezes/a", {"x": 1})
