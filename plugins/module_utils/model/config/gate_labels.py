# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels that the settings add: those of gates and channels; and which providers test which diskimage. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .gate_settings import CANARY_PREFIX, CONTROL_PREFIX, GateSettings
from .types import Diskimage, Label, NodepoolConfig, Pool, PoolLabel, Provider


def canary_label(image: str) -> str:
    """Return the label of nodes that are made from the upload to be tested."""
    return CANARY_PREFIX + image


def channel_label(name: str, channel: str) -> str:
    """Return the label of nodes that are made as those of another label, from another build."""
    return f"{name}-{channel}"


def control_label(image: str) -> str:
    """Return the label of nodes that are made from the image in use, to compare with."""
    return CONTROL_PREFIX + image


def with_more_labels(config: NodepoolConfig) -> NodepoolConfig:
    """Return the configuration with the labels of channels, and in providers that test those of gates."""
    gated = {name: image.gate for name, image in config.diskimages.items() if image.gate is not None}
    channels = {
        name: Label(name)
        for provider in config.providers.values()
        for pool in provider.pools.values()
        for name, _label in _channels(pool)
    }
    if not gated and not channels:
        return config
    providers = {name: _with_labels(provider, gated) for name, provider in config.providers.items()}
    return replace(config, labels={**channels, **config.labels}, providers=providers)


def providers_that_test(config: NodepoolConfig, image: str) -> list[str]:
    """Return the providers that test uploads of the diskimage, the first one first; none without a gate.

    A provider can test when it takes uploads of the diskimage and one of its pools offers the gate's label.
    """
    known = config.diskimages.get(image)
    if known is None or known.gate is None:
        return []
    able = [name for name, provider in config.providers.items() if _can_test(provider, image)]
    chosen = [name for name in known.gate.providers if name in able]
    return chosen if known.gate.providers else able[:1]


def _can_test(provider: Provider, image: str) -> bool:
    return image in provider.diskimages and any(canary_label(image) in pool.labels for pool in provider.pools.values())


def _with_labels(provider: Provider, gated: dict[str, GateSettings]) -> Provider:
    pools = {
        name: replace(pool, labels={**dict(_channels(pool)), **pool.labels, **dict(_labels(pool, gated))})
        for name, pool in provider.pools.items()
    }
    return replace(provider, pools=pools)


def _labels(pool: Pool, gated: dict[str, GateSettings]) -> Iterator[tuple[str, PoolLabel]]:
    for image, gate in gated.items():
        model = next((label for label in pool.labels.values() if _is_model(label, image, gate)), None)
        if model is not None:
            chosen = replace(model, flavor_name=gate.flavor, min_ram=0) if gate.flavor else model
            for name in (canary_label(image), control_label(image)):
                yield name, replace(chosen, name=name)


def _channels(pool: Pool) -> Iterator[tuple[str, PoolLabel]]:
    for label in pool.labels.values():
        for channel in label.launches.channels if label.diskimage is not None else ():
            name = channel_label(label.name, channel)
            yield name, replace(label, name=name, channel=channel)


def _is_model(label: PoolLabel, image: str, gate: GateSettings) -> bool:
    return label.diskimage == image and gate.label in (None, label.name)


def gate_of(config: NodepoolConfig, image: str) -> GateSettings | None:
    """Return the gate of a diskimage; None if it has none."""
    known: Diskimage | None = config.diskimages.get(image)
    return known.gate if known is not None else None
