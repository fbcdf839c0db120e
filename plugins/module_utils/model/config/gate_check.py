# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the names in gates and of channels, on plain data of any form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .drivers import OURS
from .messages import suggestion
from .problems import Path, Problem, shown


def check_gates(settings: Any, main: Any) -> Iterator[Problem]:
    """Yield the problems of the gates in nodepool-settings.yaml.

    :param main: data of nodepool.yaml; None if it cannot be read, then nothing is compared.
    """
    if not isinstance(settings, dict) or not isinstance(main, dict):
        return
    images = {str(item.get("name")): item for item in _items(main.get("diskimages"))}
    for index, entry in enumerate(settings["diskimages"] if isinstance(settings.get("diskimages"), list) else []):
        gate = entry.get("gate") if isinstance(entry, dict) else None
        image = images.get(str(entry.get("name"))) if isinstance(entry, dict) else None
        # The gate of an abstract diskimage is for those that inherit from it.
        if isinstance(gate, dict) and image is not None and image.get("abstract") is not True:
            yield from _problems(gate, str(image["name"]), main, ("diskimages", index, "gate"))


def check_channels(settings: Any, main: Any) -> Iterator[Problem]:
    """Yield a problem for each channel whose label nodepool.yaml defines itself; parameters as above."""
    if not isinstance(settings, dict) or not isinstance(main, dict):
        return
    defined = {str(item.get("name")) for item in _items(main.get("labels"))}
    for index, entry in enumerate(settings["labels"] if isinstance(settings.get("labels"), list) else []):
        channels = entry.get("channels") if isinstance(entry, dict) else None
        for place, channel in enumerate(channels if isinstance(channels, list) else []):
            name = f"{entry.get('name')}-{channel}"
            if name in defined:
                yield Problem(
                    ("labels", index, "channels", place),
                    f"makes the label {shown(name)!r}, which nodepool.yaml defines: rename that one, or leave out the"
                    " channel",
                )


def _problems(gate: dict[str, Any], image: str, main: dict[str, Any], path: Path) -> Iterator[Problem]:
    offers = {name: set(labels) for name, labels in _offers(main, image)}
    every = {label for labels in offers.values() for label in labels}
    name = gate.get("label")
    if isinstance(name, str) and name and name not in every:
        remedy = suggestion(name, every) or "name one that a pool makes from it"
        yield Problem(
            (*path, "label"),
            f"names the label {shown(name)!r}, which no pool makes from diskimage {shown(image)!r}: {remedy}",
        )
        return
    able = [place for place, labels in offers.items() if (labels if name is None else name in labels)]
    if not able:
        yield Problem(
            path, f"cannot be used: no provider that lists diskimage {shown(image)!r} has a label of it: add one"
        )
        return
    named = gate.get("providers")
    for index, place in enumerate(named if isinstance(named, list) else []):
        if isinstance(place, str) and place and place not in able:
            what = "the gate's label" if name else "a label"
            remedy = suggestion(place, able) or f"name one of {', '.join(able)}"
            yield Problem(
                (*path, "providers", index),
                f"names the provider {shown(place)!r}, which does not have both diskimage {shown(image)!r} and {what}:"
                f" {remedy}",
            )


def _offers(main: dict[str, Any], image: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each provider that lists the diskimage, and the labels that its pools make from it."""
    for provider in _items(main.get("providers")):
        listed = {str(item.get("name")) for item in _items(provider.get("diskimages"))}
        if (provider.get("driver") or OURS) == OURS and image in listed:
            labels = [label for pool in _items(provider.get("pools")) for label in _items(pool.get("labels"))]
            yield (
                str(provider.get("name")),
                [str(label.get("name")) for label in labels if label.get("diskimage") == image],
            )


def _items(values: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in values if isinstance(item, dict)) if isinstance(values, list) else ()
