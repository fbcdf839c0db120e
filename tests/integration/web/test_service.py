# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service over HTTP, with a real ZooKeeper."""

from __future__ import annotations

import socket

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from tests.support.web_service import ask, running, write_config


def test_it_serves_and_ends(tmp_path, zk_chroot):
    with running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as service:
        assert service.get("/health").text == "OK\n"
        assert service.get("/nowhere").status == 404
        assert ask(service.address, "/health", "DELETE").status == 405
        address = service.address
    assert service.result["address"] == address
    with pytest.raises(ConnectionRefusedError):
        ask(address, "/health")


def test_an_address_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1 port {port}"):
            Listening(lambda environ, start: [], "127.0.0.1", port)
