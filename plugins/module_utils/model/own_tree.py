# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own part of the tree, below ``/nodepool/stackci``: what is in it, and what belongs to a provider.

Every list of its folders is made from :data:`OWN_TREE`; ``docs/security.md`` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

ABSENT_BUILDERS = "absent-builders"
ACCESS = "access"
BREAKERS = "breakers"
BUILD_NOTES = "image-builds"
BUILDER_NOTES = "image-builders"
COUNTERS = "counters"
DECLINES = "declines"
DRAIN = "drain"
FREEZES = "freezes"
GATES = "image-gates"
HEARTBEATS = "heartbeats"
KNOWN_POOLS = "pools"
LAUNCH_COUNTS = "launch-counts"
LAUNCHES = "launches"
LEASE_LOCKS = "lease-locks"
LEASES = "leases"
LIVE_BUILDERS = "live-builders"
LIVE_LAUNCHERS = "live-launchers"
MET = "met"
MIN_READY = "min-ready"
PROVIDERS = "providers"
SIGHTINGS = "sightings"
SITE = "site"
STOCK_POOLS = "stock-pools"
STUCK = "stuck"
TOMBSTONES = "tombstones"
TREE_SIGHTINGS = "tree-sightings"
UPLOAD_NOTES = "image-uploads"
USAGE_DAYS = "usage-days"
USAGE_ENTRIES = "usage-entries"
VERDICTS = "image-verdicts"
WAITS = "waits"

BY_NAME = "its name"
BY_POOL = "its pool"
BY_WHERE = "where"
"""How a document shows its provider: by the first part of its path, by the pool that it is named after, or by a field
with provider and pool."""

LAUNCHER, BUILDER, ALL = "launchers", "builders", "all cycles"
REQUESTOR = "every client: requestors of `nodepool_request`"


@dataclass(frozen=True)
class Part:
    """A folder, or a single document.

    :ivar key: what the documents are named after; "" for a single document.
    :ivar provider: how a document shows the provider that it belongs to: ``BY_NAME``, ``BY_POOL``, ``BY_WHERE``, the
        name of a field, or "" if it belongs to none.
    :ivar writer: who writes it. ``REQUESTOR``: it stays open to every client, also with ``protect``.
    :ivar holds: what is in it.
    """

    name: str
    key: str
    provider: str
    writer: str
    holds: str


OWN_TREE = (
    Part(ABSENT_BUILDERS, "builder", "", BUILDER, "since when no cycle of it runs although its files are needed"),
    Part(ACCESS, "", "", ALL, "the version of the access lists that a cycle has set"),
    Part(BREAKERS, "provider", BY_NAME, LAUNCHER, "labels, images and flavors that are not launched for a time"),
    Part(COUNTERS, "host and kind of cycle", "", ALL, "the counters of `/metrics`"),
    Part(DECLINES, "request", "", LAUNCHER, "why pools have declined it"),
    Part(DRAIN, "provider", BY_NAME, LAUNCHER, "a provider that left the configuration and still has nodes"),
    Part(FREEZES, "pool", BY_POOL, LAUNCHER, "resources of the cloud that are not asked for, for a time"),
    Part(HEARTBEATS, "host and number", "", ALL, "one for each running cycle, ephemeral"),
    Part(BUILDER_NOTES, "builder", "", BUILDER, "its host, its images-dir and what its configuration lists"),
    Part(
        BUILD_NOTES,
        "image",
        "",
        BUILDER,
        "failures of its builds, their sizes and duration, what differs in the newest",
    ),
    Part(GATES, "provider, image", BY_NAME, BUILDER, "the test of the newest upload, and its results"),
    Part(UPLOAD_NOTES, "provider, image", BY_NAME, BUILDER, "failures of the uploads"),
    Part(VERDICTS, "image", "", ALL, "builds that are approved, or not to be used, and why"),
    Part(LAUNCH_COUNTS, "provider", BY_NAME, LAUNCHER, "how launches from each build of an image ended"),
    Part(LAUNCHES, "node", "provider", LAUNCHER, "launches in progress"),
    Part(LEASE_LOCKS, "hash of a lease", "", REQUESTOR, "their locks"),
    Part(LEASES, "lease", "", REQUESTOR, "their nodes and requests"),
    Part(LIVE_BUILDERS, "host and number", "", BUILDER, "one for each running cycle, ephemeral"),
    Part(LIVE_LAUNCHERS, "host and number", "", LAUNCHER, "one for each running cycle, ephemeral"),
    Part(MET, "provider", BY_NAME, LAUNCHER, "providers that were checked once for servers of others"),
    Part(
        MIN_READY, "", "", LAUNCHER, "the lock of a launcher that launches for min-ready or for a tenant with a limit"
    ),
    Part(KNOWN_POOLS, "pool", "provider_name", LAUNCHER, "pools of launchers that were registered recently"),
    Part(PROVIDERS, "provider", BY_NAME, LAUNCHER, "the lock of its launcher, and what that has learned"),
    Part(SIGHTINGS, "provider", BY_NAME, LAUNCHER, "leaks that the sweep has seen once"),
    Part(SITE, "", "", ALL, "the id of the tree"),
    Part(
        STOCK_POOLS,
        "hash of its names",
        "provider_name",
        LAUNCHER,
        "pools of Nodepool's launchers that were registered recently",
    ),
    Part(STUCK, "server", "provider", LAUNCHER, "deletions that make no progress"),
    Part(TOMBSTONES, "provider, node", BY_NAME, LAUNCHER, "deleted nodes"),
    Part(TREE_SIGHTINGS, "", "", LAUNCHER, "leaks in the tree that the sweep has seen once"),
    Part(USAGE_DAYS, "day", "", LAUNCHER, "node-hours and waits by tenant, project, job, label, provider and pool"),
    Part(USAGE_ENTRIES, "node", "", LAUNCHER, "lives of nodes that no day has counted yet"),
    Part(WAITS, "request", BY_WHERE, LAUNCHER, "why it waits"),
)
