# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, labels and texts of metrics as Prometheus' conventions ask for."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import FAMILIES
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import (
    COUNTER,
    HISTOGRAM,
    METRICS,
)


def test_names_are_unique_and_end_as_their_kind():
    names = [metric.full_name for metric in METRICS]
    assert len(set(names)) == len(names) > 30
    for metric in METRICS:
        assert metric.full_name.startswith("stackci_nodepool_") and metric.full_name.islower()
        assert metric.full_name.endswith("_total") == (metric.kind == COUNTER), metric
        assert metric.kind != HISTOGRAM or metric.full_name.endswith("_seconds"), metric


def test_every_metric_is_explained_and_every_family_is_a_metric():
    assert all(metric.text.endswith(".") and "|" not in metric.text for metric in METRICS)
    assert sum(metric.kind in (COUNTER, HISTOGRAM) for metric in METRICS) == len(FAMILIES)


def test_labels_have_names_of_their_own():
    assert {label for metric in METRICS for label in metric.labels} & {"le", "instance", "job", "__name__"} == set()
    assert all(len(set(metric.labels)) == len(metric.labels) for metric in METRICS)
