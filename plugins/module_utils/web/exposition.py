# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a tree in Prometheus' text format."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..clients.zookeeper.tree_reading import TreeReading
from ..model.config.types import NodepoolConfig
from ..model.counters import FAMILIES, Counters, Family
from ..reporting import metric_catalog as catalog
from ..reporting.metric_catalog import Gauges, Metric, cleaned
from ..reporting.metric_samples import counters_in, gauges_of
from .libraries import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Request,
    Response,
    generate_latest,
)
from .picture import Snapshot
from .routing import Route
from .spent_budgets import spent_budgets

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as MetricFamily

NONE: Mapping[str, Sequence[str]] = MappingProxyType({})
WEB = "web"
"""The name of the web service among the kinds of cycles."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The format that every Prometheus and every ``promtool`` reads."""


def exposition(
    reading: TreeReading,
    config: NodepoolConfig,
    now: float,
    *,
    connected: bool = True,
    age: float | None = 0.0,
    file_problems: Mapping[str, Sequence[str]] = NONE,
    budgets: Sequence[Mapping[str, Any]] | None = None,
) -> bytes:
    """Return all metrics as text. When the tree was never read, only what is known without it has a value.

    :param now: UNIX time.
    :param connected: True when ZooKeeper answers now.
    :param age: seconds since ZooKeeper answered last; None: it never did.
    :param file_problems: host of a web service → what is wrong with its configuration files.
    :param budgets: the rows of the budgets, when the caller already has them.
    """
    gauges, counters = Gauges(), Counters()
    if age is not None:
        problems = [problem for told in file_problems.values() for problem in told]
        gauges, counters = gauges_of(reading, config, now, budgets, problems), counters_in(reading, config)
        gauges.set(catalog.ZOOKEEPER_CONTACT, value=now - age)
    gauges.set(catalog.ZOOKEEPER_CONNECTED, value=connected)
    for host, told in file_problems.items():
        gauges.set(catalog.CONFIG_PROBLEMS, host, WEB, value=len(told))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(gauges, counters))
    text: bytes = generate_latest(registry)
    return text


class _Collector:
    """A collector that passes the values to the library."""

    def __init__(self, gauges: Gauges, counters: Counters) -> None:
        self._gauges = gauges
        self._counters = counters

    def collect(self) -> Iterator[MetricFamily]:
        """Yield all families, also those without a value: then a query that names them does not look wrong."""
        for metric, values in self._gauges.values.items():
            gauge = GaugeMetricFamily(metric.full_name, metric.text, labels=metric.labels)
            for labels, value in values.items():
                gauge.add_metric(labels, float(value))
            yield gauge
        for family in FAMILIES:
            yield _counted(family, catalog.COUNTED[family.name], self._counters)


def _counted(family: Family, metric: Metric, counters: Counters) -> MetricFamily:
    series = {tuple(map(cleaned, labels)): numbers for labels, numbers in counters.series[family.name].items()}
    if not family.buckets:
        counter = CounterMetricFamily(metric.full_name, metric.text, labels=metric.labels)
        for labels, numbers in series.items():
            counter.add_metric(labels, numbers[0])
        return counter
    histogram = HistogramMetricFamily(metric.full_name, metric.text, labels=metric.labels)
    bounds = [*(str(float(bound)) for bound in family.buckets), "+Inf"]
    for labels, numbers in series.items():
        histogram.add_metric(labels, list(zip(bounds, accumulate(numbers[:-1]), strict=True)), numbers[-1])
    return histogram


def metrics(snapshot: Snapshot, _request: Request) -> Response:
    """Answer with all metrics in Prometheus' text format; without ZooKeeper those of the last known state."""
    contact = snapshot.contact
    text = snapshot.remembered(
        "metrics",
        lambda: exposition(
            snapshot.reading,
            snapshot.config,
            snapshot.now,
            connected=contact.connected,
            age=contact.age,
            file_problems={socket.gethostname(): snapshot.picture.file_problems},
            budgets=spent_budgets(snapshot) if contact.age is not None else (),
        ),
    )
    return Response(text, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-cache"})


ROUTES: tuple[Route, ...] = (Route("/metrics", metrics, needs_tree=False),)
