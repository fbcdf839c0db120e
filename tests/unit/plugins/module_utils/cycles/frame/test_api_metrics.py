# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of calls: those that openstacksdk sends, and no more of them than can wait."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from openstack.proxy import Proxy

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.api_names import (
    ApiCall,
    api_name,
    operation_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import MOST_WAITING, Statsd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.api_metrics import calls_to, send_api_call

URL = "https://cloud.example/compute/v2.1/servers"


class Noted:
    """Keeps what it is told; a sink, and a client of the library with its packets."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, float]] = []

    def pipeline(self) -> Noted:
        return self

    def __enter__(self) -> Noted:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        pass

    def incr(self, name: str, count: int = 1) -> None:
        self.lines.append(("c", name, count))

    def gauge(self, name: str, value: float) -> None:
        self.lines.append(("g", name, value))

    def timing(self, name: str, value: float) -> None:
        self.lines.append(("ms", name, value))


def library(service: str, status: int | None, seconds: float) -> list[tuple[str, str, float]]:
    """What openstacksdk sends."""
    noted = Noted()
    proxy = Proxy.__new__(Proxy)
    proxy.service_type, proxy._statsd_client, proxy._statsd_prefix = service, noted, "openstack.api"
    proxy.session = SimpleNamespace(get_project_id=lambda: "p")
    request = SimpleNamespace(url=URL, method="POST")
    if status is None:
        proxy._report_stats_statsd(None, URL, "POST", OSError())
    else:
        answer = SimpleNamespace(request=request, status_code=status, elapsed=timedelta(seconds=seconds))
        proxy._report_stats_statsd(answer)
    return noted.lines


@pytest.mark.filterwarnings("ignore:The 'service_type' parameter")
@pytest.mark.parametrize(
    ("service", "status", "seconds"),
    [
        ("compute", 202, 0.25),
        ("block-storage", 403, 1.0),
        ("compute", 500, 1.0009),
        ("a.b:c", 200, 1.001),
        ("network", None, 30.0),
    ],
)
def test_the_same_lines_as_of_the_library(service, status, seconds):
    noted = Noted()
    name = api_name("openstack.api", service, "POST", operation_of(URL, "p"))
    send_api_call(noted, ApiCall(name, status, seconds))
    ours = [(kind, name, int(1000 * value) if kind == "ms" else value) for kind, name, value in noted.lines]
    assert ours == library(service, status, seconds) != []


def test_a_prefix_comes_once_and_odd_names_are_cleaned():
    sink = Statsd("h", prefix="foo", make=lambda host, port: pytest.fail("nothing waits"))
    sink.close()
    tell = calls_to(sink)
    assert tell is not None
    tell(ApiCall("foo.compute.POST.servers", 202, 0.5))
    tell(ApiCall("foo.compute.GET.a b|c", None, 0.5))
    sink.incr("nodepool.x")
    assert list(sink._waiting) == [
        ("timing", "foo.compute.POST.servers.202", 500.0),
        ("incr", "foo.compute.POST.servers.202", 1),
        ("incr", "foo.compute.POST.servers.attempted", 1),
        ("incr", "foo.compute.GET.a_b_c.failed", 1),
        ("incr", "foo.compute.GET.a_b_c.attempted", 1),
        ("incr", "foo.nodepool.x", 1),
    ]


def test_where_nothing_is_sent_nobody_is_told():
    assert calls_to(Statsd(None)) is None


def test_a_hundred_thousand_calls_do_not_pile_up():
    hangs = threading.Event()

    def make(host, port):
        hangs.wait(30)
        raise OSError("no such host")

    sink = Statsd("gone.example", make=make)
    tell = calls_to(sink)
    assert tell is not None
    for _turn in range(100_000):
        tell(ApiCall("openstack.api.compute.GET.servers_detail", 200, 0.1))
    assert len(sink._waiting) == MOST_WAITING
    hangs.set()
    sink.close()
