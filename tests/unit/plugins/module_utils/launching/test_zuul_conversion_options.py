# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No option is lost without a word on the way to Zuul, those of nodepool-settings.yaml included."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.zuul_conversion import converted
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_settings import GateSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import LaunchSettings, Probe
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import options_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    CloudImage,
    Diskimage,
    Label,
    NodepoolConfig,
    Pool,
    PoolLabel,
    Provider,
    ProviderDiskimage,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.usage_budget import UsageBudget
from tests.support.config_texts import parse

DOCUMENT = {
    "zookeeper-servers": [{"host": "zk"}],
    "labels": [{"name": "small"}, {"name": "cloudy"}],
    "diskimages": [{"name": "debian"}],
    "providers": [
        {
            "name": "west",
            "cloud": "cloud",
            "diskimages": [{"name": "debian"}],
            "cloud-images": [{"name": "golden", "image-id": "0b7e13cc-9f0f-4f6d-8d5b-4ce1ab2c7d11"}],
            "pools": [
                {
                    "name": "main",
                    "labels": [
                        {"name": "small", "diskimage": "debian", "flavor-name": "m1", "boot-from-volume": True},
                        {"name": "cloudy", "cloud-image": "golden", "flavor-name": "m1"},
                    ],
                }
            ],
        }
    ],
}
SITE = parse(DOCUMENT)
OF_THE_BUILDER = {
    "images_dir", "elements_dir", "build_log_dir", "build_log_retention", "elements", "env_vars", "release", "formats",
    "keep_formats", "delete_after_upload", "rebuild_age", "build_timeout", "pause", "dib_cmd", "builder_gone_after",
    "image_upload_timeout",
}  # fmt: skip
"""Our builder goes on with the images (docs/migration.md), or jobs of Zuul make them in their own way."""
OF_THE_PROGRAM = {"webapp", "zookeeper"}
WHOLE = {
    "name",
    "image_name",
    "diskimage",
    "cloud_image",
    "limits",
    "pools",
    "channel",
    "labels",
    "diskimages",
    "providers",
    "cloud_images",
}
"""Names, and what other tests convert. An image that has an id needs no name."""
VALUES: Mapping[str, Any] = {
    "config_drive": True,
    "gate": GateSettings("smoke.yml"),
    "probe": Probe(port=22),
    "node_attributes": {"k": "v"},
    "usage_budgets": {"t": UsageBudget("t", hours_per_day=1)},
    "boot_timeout": 77,
    "launch_timeout": 77,
}


def other(name: str, value: Any) -> Any:
    """Another value of an option."""
    if isinstance(value, bool):
        return not value
    if name in VALUES:
        return VALUES[name]
    if isinstance(value, int | float):
        return value + 7 if math.isfinite(value) else 3
    if isinstance(value, tuple):
        return (*value, "x")
    if isinstance(value, Mapping):
        return {**value, "x": "y"}
    return f"{value or ''}x"


def with_pool(**changes: Any) -> NodepoolConfig:
    return with_provider(pools={"main": replace(SITE.providers["west"].pools["main"], **changes)})


def with_provider(**changes: Any) -> NodepoolConfig:
    return replace(SITE, providers={"west": replace(SITE.providers["west"], **changes)})


def with_label(name: str, **changes: Any) -> NodepoolConfig:
    labels = SITE.providers["west"].pools["main"].labels
    return with_pool(labels={**labels, name: replace(labels[name], **changes)})


def with_top_label(**changes: Any) -> NodepoolConfig:
    return replace(SITE, labels={**SITE.labels, "small": replace(SITE.labels["small"], **changes)})


def with_diskimage(**changes: Any) -> NodepoolConfig:
    return replace(SITE, diskimages={"debian": replace(SITE.diskimages["debian"], **changes)})


def with_upload(**changes: Any) -> NodepoolConfig:
    return with_provider(diskimages={"debian": replace(SITE.providers["west"].diskimages["debian"], **changes)})


def with_cloud_image(**changes: Any) -> NodepoolConfig:
    return with_provider(cloud_images={"golden": replace(SITE.providers["west"].cloud_images["golden"], **changes)})


def with_launches(**changes: Any) -> NodepoolConfig:
    return with_label("small", launches=replace(LaunchSettings(), **changes))


WEST = SITE.providers["west"]
PLACES: tuple[tuple[type, Any, Any], ...] = (
    (NodepoolConfig, SITE, lambda **changes: replace(SITE, **changes)),
    (Provider, WEST, with_provider),
    (Pool, WEST.pools["main"], with_pool),
    (PoolLabel, WEST.pools["main"].labels["small"], lambda **changes: with_label("small", **changes)),
    (Label, SITE.labels["small"], with_top_label),
    (Diskimage, SITE.diskimages["debian"], with_diskimage),
    (ProviderDiskimage, WEST.diskimages["debian"], with_upload),
    (CloudImage, WEST.cloud_images["golden"], with_cloud_image),
    (LaunchSettings, LaunchSettings(), with_launches),
)
OPTIONS = [
    pytest.param(place, name, id=f"{place[0].__name__}.{name}")
    for place in PLACES
    for name, option in options_of(place[0]).items()
    if name not in WHOLE | OF_THE_PROGRAM and not option.joined
]


@pytest.mark.parametrize(("place", "name"), OPTIONS)
def test_an_option_is_converted_or_told(place: tuple[type, Any, Any], name: str) -> None:
    kind, entry, change = place
    before, after = converted(SITE), converted(change(**{name: other(name, getattr(entry, name))}))
    if name in OF_THE_BUILDER and kind is not ProviderDiskimage:
        assert after == before
    else:
        assert after != before, f"{kind.__name__}.{name} is lost without a word"


def test_labels_of_gates_and_channels_are_none_of_zuuls() -> None:
    settings = {
        "labels": [{"name": "small", "channels": ["previous", "candidate"]}],
        "diskimages": [{"name": "debian", "gate": {"playbook": "smoke.yml"}}],
    }
    found = converted(parse(DOCUMENT, settings_text=json.dumps(settings)))
    assert {item["label"]["name"] for item in found.objects if "label" in item} == {"small", "cloudy"}
    (provider,) = (item["provider"] for item in found.objects if "provider" in item)
    assert {one["name"] for one in provider["labels"]} == {"small", "cloudy"}
    assert not any("stackci-" in text or "small-" in text for text in found.told), found.told
    assert any("gate" in text for text in found.told) and any("nodepool-settings.yaml" in text for text in found.told)
