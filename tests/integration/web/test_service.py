# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service over HTTP, with a real ZooKeeper."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import STATE_AGE
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from tests.support.fixtures_zookeeper import bare_client, end, eventually, settings_for
from tests.support.web_service import ask, running, write_config
from tests.support.zookeeper_server import ZooKeeperServer


def test_it_serves_and_ends(tmp_path, zk_chroot):
    with running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as service:
        assert service.get("/health").text == "OK\n"
        assert service.get("/nowhere").status == 404
        assert ask(service.address, "/health", "DELETE").status == 405
        address = service.address
    assert service.result["address"] == address
    with pytest.raises(ConnectionRefusedError):
        ask(address, "/health")


def test_a_typo_in_its_configuration_is_on_the_page_until_it_is_corrected(tmp_path, zk_chroot):
    config = write_config(tmp_path / "nodepool.yaml", zk_chroot)
    good, said = config.read_text(), "the configuration of this view cannot be used"
    with running(config) as service:
        eventually(lambda: service.get("/").status == 200 and said not in service.get("/").text, 60)
        config.write_text(f"{good}labels: [\n")
        eventually(lambda: said in service.get("/").text, 60)
        metric = f'stackci_nodepool_config_problems{{cycle="web",host="{socket.gethostname()}"}}'
        assert f"{metric} 1.0\n" in service.get("/metrics").text
        assert 'stackci_nodepool_attention{cause="configuration",level="bad"} 1.0\n' in service.get("/metrics").text
        config.write_text(good)
        eventually(lambda: said not in service.get("/").text, 60)
        assert f"{metric} 0.0\n" in service.get("/metrics").text


def test_it_writes_nothing_not_even_the_chroot(tmp_path, zk_chroot, zookeeper):
    with running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as service:
        eventually(lambda: service.get("/node-list").status == 200)
    client = bare_client(zookeeper)
    try:
        assert client.exists(zk_chroot.servers[0].chroot) is None
    finally:
        end(client)


def test_it_starts_without_zookeeper_and_finds_it_later(tmp_path):
    with ZooKeeperServer(tick_ms=100) as server:
        server.stop()
        with running(write_config(tmp_path / "nodepool.yaml", settings_for(server))) as service:
            assert service.get("/health").status == 200
            assert service.get("/node-list").status == 503
            server.start()
            eventually(lambda: service.get("/node-list").status == 200, 60)


def test_without_zookeeper_the_last_known_state_stays_with_its_age(tmp_path):
    with (
        ZooKeeperServer(tick_ms=100) as server,
        running(write_config(tmp_path / "nodepool.yaml", settings_for(server))) as service,
    ):
        eventually(lambda: service.get("/node-list").status == 200)
        assert STATE_AGE.lower() not in service.get("/health").headers
        server.stop()
        eventually(lambda: STATE_AGE.lower() in service.get("/health").headers, 60)
        assert service.get("/node-list").status == 200
        assert service.get("/ready").status == 503
        server.start()
        eventually(lambda: STATE_AGE.lower() not in service.get("/health").headers, 60)
        eventually(lambda: service.get("/ready").text == "OK")


def test_an_address_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1 port {port}"):
            Listening(lambda environ, start: [], "127.0.0.1", port)
