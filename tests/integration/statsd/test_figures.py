# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures on the wire, from the launcher and from the sweep; and a statsd that is not there harms nobody."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import machine
from tests.integration.leaks.conftest import leftovers
from tests.integration.statsd.conftest import Listener
from tests.support.launcher_case import Site
from tests.support.leftovers import sweep

__all__ = ["leftovers"]

QUEUES = ("event_queue", "playback_queue")


def test_a_launch_is_heard_of(site: Site, listener: Listener):
    site.configure()
    site.requestor.ask("small")
    site.run()
    lines = listener.heard()
    assert "nodepool.launch.ready:1|c" in lines
    assert "nodepool.launch.provider.one.ready:1|c" in lines
    assert "nodepool.launch.image.debian-12.ready:1|c" in lines
    assert any(line.startswith("nodepool.launch.ready:") and line.endswith("|ms") for line in lines)
    assert "nodepool.nodes.in-use:0|g" in lines
    assert any(line.startswith("nodepool.provider.one.pool.main.addressable_requests:") for line in lines)
    queues = f"nodepool.launcher.{socket.gethostname()}.zk"
    sent = {line.partition(":")[0] for line in lines if line.startswith(f"{queues}.") and line.endswith("|g")}
    caches = {f"{queues}.{name}_cache.{kind}" for name in ("node", "request", "image") for kind in QUEUES}
    assert sent == caches | {f"{queues}.client.connection_queue"}


def test_what_leaked_and_was_deleted_is_heard_of(site: Site, leftovers, listener: Listener):
    site.configure()
    somebody = leftovers()
    somebody.server()
    somebody.server(provider=None)
    somebody.floating_ip(somebody.description("0000099999-1-a"))
    sweep(site, check=True)
    assert [line for line in listener.heard() if line.startswith("nodepool.")] == []
    sweep(site)
    lines = listener.heard()
    assert "nodepool.provider.one.leaked.instances:1|c" in lines
    assert "nodepool.provider.one.leaked.floatingips:1|c" in lines
    assert "nodepool.provider.one.seen_foreign.instances:1|g" in lines


def test_calls_of_the_cloud_are_heard_of_as_openstacksdk_tells_them(
    site: Site, listener: Listener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 0.5)
    site.configure()
    site.cloud.fault("POST /servers", "status", count=1, status=500)
    site.requestor.ask("small")
    site.run()
    lines = listener.heard()
    # The simulated clouds have two folders before the version; of these the last one is told.
    create = "openstack.api.compute.POST.compute_servers"
    assert lines.count(f"{create}.202:1|c") == lines.count(f"{create}.500:1|c") == 1
    assert lines.count(f"{create}.attempted:1|c") == 2
    assert any(line.startswith(f"{create}.202:") and line.endswith("|ms") for line in lines)
    assert "openstack.api.compute.GET.servers_detail.200:1|c" in lines
    assert not any(".identity." in line or ".tokens." in line for line in lines)


def test_the_prefix_comes_once_and_in_place_of_openstack_api(
    site: Site, listener: Listener, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("STATSD_PREFIX", "foo")
    site.configure()
    sweep(site, check=True)
    assert listener.heard() == []
    sweep(site)
    lines = listener.heard()
    assert "foo.compute.GET.servers_detail.200:1|c" in lines
    assert lines and all(line.startswith("foo.") and "foo.foo" not in line for line in lines)
    assert not any("openstack.api" in line for line in lines)


SILENT = "silent.invalid"


@pytest.fixture
def silent_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The look-up of one name does not end before the test does."""
    over, look_up = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        if host == SILENT:
            over.wait()
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield
    over.set()


@pytest.mark.usefixtures("silent_name")
@pytest.mark.parametrize(
    ("host", "port"),
    [("no-such-host.invalid", "8125"), (SILENT, "8125"), ("127.0.0.1", "9"), ("127.0.0.1", "eighty")],
)
def test_a_statsd_that_is_not_there_harms_nobody(site: Site, monkeypatch: pytest.MonkeyPatch, host: str, port: str):
    monkeypatch.setenv("STATSD_HOST", host)
    monkeypatch.setenv("STATSD_PORT", port)
    site.configure()
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.state(request) == "fulfilled"
