# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of ``/metrics``: names, labels and texts.

The prefix is the collection's own, because sites that map Nodepool's statsd metrics with a statsd exporter have names
that begin with ``nodepool_`` and have other labels. Units are base units (seconds, bytes), points in time are UNIX
times.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.bounded_text import printable
from ..model.counters import FAMILIES, MOST_SERIES, OTHER, Family, Labels

PREFIX = "stackci_nodepool_"
LONGEST_LABEL = 128
"""Most characters of a label's value."""
COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"


@dataclass(frozen=True)
class Metric:
    """A metric. *name* is without the prefix; the name of a counter ends in ``_total``."""

    name: str
    text: str
    labels: tuple[str, ...] = ()
    kind: str = GAUGE

    @property
    def full_name(self) -> str:
        """The name as Prometheus shows it."""
        return PREFIX + self.name


POOL = ("provider", "pool")

ZOOKEEPER_CONNECTED = Metric("zookeeper_connected", "1 while ZooKeeper answers the web service, otherwise 0.")
ZOOKEEPER_CONTACT = Metric(
    "zookeeper_last_contact_timestamp_seconds",
    "When ZooKeeper answered last. All other metrics show the state of that time.",
)

NODES = Metric("nodes", "Nodes in ZooKeeper.", (*POOL, "label", "state"))
LABEL_MISSING = Metric("label_min_ready_missing", "Free nodes that a label lacks to reach its min-ready.", ("label",))
REQUESTS = Metric(
    "requests", "Node requests. reason is the code of what a request waits for, or empty.", ("state", "reason")
)
OLDEST_REQUEST = Metric(
    "request_oldest_timestamp_seconds", "When the oldest request in this state was made.", ("state",)
)

QUOTA_USED = Metric(
    "quota_used",
    "What nodes use of a resource, by their records; pool is empty for a provider. ram_bytes, volume_bytes: bytes.",
    (*POOL, "resource"),
)
QUOTA_LIMIT = Metric(
    "quota_limit",
    "The limit of a pool in nodepool.yaml or, with an empty pool, the quota of the project as read last.",
    (*POOL, "resource"),
)
QUOTA_OTHERS = Metric(
    "quota_used_by_others", "What others use in the project, at the last reading.", ("provider", "resource")
)
QUOTA_READ = Metric(
    "quota_read_timestamp_seconds", "When a launcher read the quota of the project last.", ("provider",)
)

FROZEN = Metric(
    "pool_frozen", "1 while no create is sent because the cloud refused this resource.", (*POOL, "resource")
)
PAUSED = Metric("pool_paused", "1 while a registered pool has no room for what waits.", POOL)
BREAKER = Metric(
    "breaker_open", "1 while launches with this image and flavor pause after failures.", ("provider", "image", "flavor")
)
HEALTHY = Metric("provider_healthy", "1 when the API of the provider's cloud works, 0 when it does not.", ("provider",))
FAILED_CALLS = Metric(
    "provider_failed_calls_ratio",
    "Share of the calls of a provider's API that failed in the last hour, as the launcher stored it last.",
    ("provider",),
)
ACTING = Metric("provider_acting", "1 while a launcher serves the provider, otherwise 0.", ("provider",))
STANDBYS = Metric(
    "provider_standbys", "Launchers on other hosts that could serve a provider which one serves now.", ("provider",)
)
ACTING_INFO = Metric(
    "provider_acting_info", "1 for each host that has registered pools of a provider.", ("provider", "host")
)
COMPONENT_INFO = Metric(
    "component_info", "1 for each registered launcher and builder.", ("kind", "host", "state", "version")
)
CYCLE_END = Metric(
    "cycle_last_end_timestamp_seconds",
    "When a cycle of this kind ended last on a host: launcher, builds, uploads or sweep.",
    ("host", "cycle"),
)
CYCLE_HEARTBEAT = Metric(
    "cycle_heartbeat_timestamp_seconds",
    "When a connected cycle of this kind last showed activity: launcher, builds or uploads.",
    ("host", "cycle"),
)
CONFIG_PROBLEMS = Metric(
    "config_problems",
    "Problems of nodepool.yaml and secure.conf that make a cycle, or the web service (web), use an earlier"
    " configuration; 0 when it uses the files.",
    ("host", "cycle"),
)
ATTENTION = Metric(
    "attention",
    "Rows of the status screen that need attention, by cause. level is bad when something does not work at all.",
    ("cause", "level"),
)
TENANT_USAGE = Metric(
    "tenant_usage_today_seconds",
    "Node-seconds today (UTC) of nodes that are gone, by tenant. part is what the servers were; the tenant is empty for"
    " nobody.",
    ("tenant", "part"),
)
LABEL_USAGE = Metric(
    "label_usage_today_seconds",
    "Node-seconds today (UTC) of nodes that are gone, by label. part is what the servers were.",
    ("label", "part"),
)
BUDGET = Metric("tenant_budget_seconds", "Node-seconds that a tenant should not exceed.", ("tenant", "period"))
BUDGET_USED = Metric(
    "tenant_budget_used_seconds",
    "Node-seconds of a tenant with a budget, today or in this month (UTC), with nodes that exist.",
    ("tenant", "period"),
)
STUCK = Metric("stuck_deletions", "Deletions of servers and floating IPs that make no progress.", ("provider",))
LEAKS = Metric(
    "leaks_seen",
    "Leaked resources at the last sweep that are not deleted yet. provider is empty for ZooKeeper.",
    ("provider", "kind"),
)

IMAGE_REBUILD_AGE = Metric("image_rebuild_age_seconds", "rebuild-age of an image in nodepool.yaml.", ("image",))
IMAGE_BUILDS = Metric("image_builds", "Builds of an image in ZooKeeper.", ("image", "state"))
IMAGE_BUILT = Metric(
    "image_build_timestamp_seconds", "When the newest ready build of an image became ready.", ("image",)
)
IMAGE_FAILURES = Metric("image_build_failures", "Builds of an image that failed in a row.", ("image",))
IMAGE_PAUSED = Metric("image_paused", "1 for an image whose builds are paused.", ("image",))
UPLOADS = Metric("image_uploads", "Uploads of an image in ZooKeeper.", ("provider", "image", "state"))
UPLOAD_BUILT = Metric(
    "image_upload_build_timestamp_seconds",
    "When the newest build with a ready upload at a provider became ready.",
    ("provider", "image"),
)
BUILDS_UNUSED = Metric(
    "image_builds_unused",
    "Builds in a provider's cloud from which nothing is launched: revoked, rejected, held, or given up.",
    ("provider", "image"),
)
BUILD_LAUNCHES = Metric(
    "image_build_launches",
    "Attempts to launch a node from a build that is in a provider's cloud; build is the beginning of its id. result is"
    " ready, or the owner of the failure.",
    ("provider", "image", "build", "result"),
)
IMAGE_GATE = Metric(
    "image_gate",
    "1 for what the gate of an image at a provider says of the newest build: waiting, inconclusive, passed, flaky,"
    " rejected or promoted.",
    ("provider", "image", "state"),
)
UPLOAD_FAILURES = Metric(
    "image_upload_failures", "Uploads of an image to a provider that failed in a row.", ("provider", "image")
)

GAUGES = tuple(value for value in list(vars().values()) if isinstance(value, Metric))


def of_family(family: Family) -> Metric:
    """Return the metric of a family of counters or histograms that cycles store."""
    if family.buckets:
        return Metric(family.name, family.text, family.labels, HISTOGRAM)
    return Metric(f"{family.name}_total", family.text, family.labels, COUNTER)


COUNTED = {family.name: of_family(family) for family in FAMILIES}
METRICS = (*GAUGES, *COUNTED.values())


class Gauges:
    """Values by metric and label values.

    :ivar values: in the order of the catalog.
    """

    def __init__(self) -> None:
        self.values: dict[Metric, dict[Labels, float]] = {metric: {} for metric in GAUGES}

    def set(self, metric: Metric, *labels: str | None, value: float) -> None:
        """Set the gauge to *value*."""
        self.values[metric][self._key(metric, labels)] = value

    def add(self, metric: Metric, *labels: str | None, value: float = 1) -> None:
        """Increase the gauge by *value*."""
        key = self._key(metric, labels)
        self.values[metric][key] = self.values[metric].get(key, 0) + value

    def _key(self, metric: Metric, labels: tuple[str | None, ...]) -> Labels:
        """Return the cleaned label values; when a metric has MOST_SERIES series, new ones are all :data:`OTHER`."""
        key = tuple(cleaned(label) for label in labels)
        known = self.values[metric]
        return key if key in known or len(known) < MOST_SERIES else (OTHER,) * len(key)


def cleaned(label: str | None) -> str:
    """Return a label's value, printable and cut to LONGEST_LABEL."""
    return printable((label or "")[:LONGEST_LABEL])
