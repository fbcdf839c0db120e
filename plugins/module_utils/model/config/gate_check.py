# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of gates and their names, of channels, and of probes that log in, on plain data of any form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .drivers import OURS
from .inheritance import lineage
from .launch_settings import Probe
from .messages import suggestion
from .options import options_of
from .problems import Path, Problem, shown

WITHOUT_SSH = frozenset({"winrm", "psrp", "httpapi"})
"""Values of connection-type whose port is none of ssh."""

Entry = Mapping[str, Any]
Found = tuple[Path, Entry]
"""A probe, and its place in nodepool-settings.yaml."""


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
    """Yield a problem for each channel whose label nodepool.yaml defines itself, or that has no builds; parameters as
    above."""
    if not isinstance(settings, dict) or not isinstance(main, dict):
        return
    defined = {str(item.get("name")) for item in _items(main.get("labels"))}
    built = _built(main)
    for path, entry in _label_entries(settings):
        channels = entry.get("channels")
        if channels and not built.get(str(entry.get("name")), True):
            yield Problem(
                (*path, "channels"),
                "has no effect, because all pools make the label from cloud-images, which have no builds: remove it",
                "warning",
            )
        for place, channel in enumerate(channels if isinstance(channels, list) else []):
            name = f"{entry.get('name')}-{channel}"
            if name in defined:
                yield Problem(
                    (*path, "channels", place),
                    f"makes the label {shown(name)!r}, which nodepool.yaml defines: rename that one, or leave out the"
                    " channel",
                )


def _label_entries(settings: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the entries of labels, and of those of pools, with their places."""
    yield from _placed(settings, (), "labels")
    for at_provider, provider in _placed(settings, (), "providers"):
        for at_pool, pool in _placed(provider, at_provider, "pools"):
            yield from _placed(pool, at_pool, "labels")


def _placed(section: dict[str, Any], path: Path, key: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    yield from (((*path, key, index), item) for index, item in _numbered(section.get(key)))


def check_probes(settings: Any, main: Any) -> Iterator[Problem]:
    """Yield a problem for each probe that would log in where no login is possible, and for one with time for one try.

    :param main: data of nodepool.yaml; None if it cannot be read, then nothing is compared.
    """
    if not isinstance(settings, dict) or not isinstance(main, dict):
        return
    yield from (problem for path, probe in _written(settings) for problem in _rare(path, probe))
    told: dict[Path, str] = {}
    for found, sentence in _unfit(settings, main):
        told.setdefault((*found, "command"), sentence)
    yield from (Problem(path, sentence) for path, sentence in told.items())


def _written(settings: dict[str, Any]) -> Iterator[Found]:
    """Yield the probes as they are written, with their places."""
    entries = [*_label_entries(settings), *_placed(settings, (), "diskimages")]
    for at_provider, provider in _placed(settings, (), "providers"):
        entries += _placed(provider, at_provider, "cloud-images")
    for path, entry in entries:
        if isinstance(probe := entry.get("probe"), dict):
            yield (*path, "probe"), probe


def _rare(path: Path, probe: Entry) -> Iterator[Problem]:
    """Yield a problem if the time is over before a second attempt could begin."""
    pause, limit = _seconds_of(probe, "interval"), _seconds_of(probe, "timeout")
    if pause > limit:
        yield Problem(
            (*path, "interval" if probe.get("interval") is not None else "timeout"),
            f"allows one attempt only, because timeout ({limit} s) is over before interval ({pause} s): make timeout"
            " longer, or interval shorter",
            "warning",
        )


def _seconds_of(probe: Entry, name: str) -> int:
    option = options_of(Probe)[name]
    value = probe.get(option.key or name)
    return value if isinstance(value, int) and not isinstance(value, bool) else int(option.default)


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


def _built(main: dict[str, Any]) -> dict[str, bool]:
    """Return for each label that pools offer whether one of them makes it from a diskimage."""
    found: dict[str, bool] = {}
    for provider in _items(main.get("providers")):
        pools = _items(provider.get("pools")) if (provider.get("driver") or OURS) == OURS else ()
        for label in (label for pool in pools for label in _items(pool.get("labels"))):
            name = str(label.get("name"))
            found[name] = found.get(name, False) or not label.get("cloud-image")
    return found


def _unfit(settings: Entry, main: Entry) -> Iterator[tuple[Path, str]]:
    images = _by_name(main.get("diskimages"))
    for provider in _items(main.get("providers")):
        if (provider.get("driver") or OURS) != OURS:
            continue
        name = str(provider.get("name"))
        for pool in _items(provider.get("pools")):
            for label in _items(pool.get("labels")):
                kind = "cloud-image" if label.get("cloud-image") else "diskimage"
                image = _by_name(provider.get(f"{kind}s")).get(str(label.get(kind)))
                found = _probe_of(settings, images, name, str(pool.get("name")), label)
                why = _why_not(found[1], kind, image) if found is not None and image is not None else ""
                if found is not None and why:
                    yield found[0], why


def _why_not(probe: Entry, kind: str, image: Entry) -> str:
    """Return why the command cannot be run on nodes of an image; "" if it can, or if there is none."""
    if not isinstance(probe.get("command"), str):
        return ""
    named, connection = f"{kind} {shown(str(image['name']))!r}", image.get("connection-type")
    if connection in WITHOUT_SSH:
        return f"is run over ssh, but {named} is reached by {connection}: use port"
    if kind == "cloud-image" and not image.get("username"):
        return f"needs an account, but {named} has no username: add it in nodepool.yaml"
    return ""


def _probe_of(settings: Entry, images: Mapping[str, Entry], provider: str, pool: str, label: Entry) -> Found | None:
    """Return the probe of a pool's label: its own, or that of the label, or that of the image."""
    name, image = str(label.get("name")), str(label.get("cloud-image") or label.get("diskimage"))
    there = ("providers", provider)
    places = [(*there, "pools", pool, "labels", name), ("labels", name)]
    if label.get("cloud-image"):
        places.append((*there, "cloud-images", image))
    else:
        line = lineage(images[image], images)[::-1] if image in images else []
        places += [("diskimages", str(one.get("name"))) for one in line]
    return next((found for place in places if (found := _probe_at(settings, place)) is not None), None)


def _probe_at(settings: Entry, place: tuple[str, ...]) -> Found | None:
    """Return the probe of an entry.

    :param place: key of a list and name of its entry, again and again.
    """
    path: Path = ()
    entry: Any = settings
    for key, name in zip(place[::2], place[1::2], strict=True):
        values = entry.get(key)
        index = next((at for at, item in _numbered(values) if str(item.get("name")) == name), None)
        if index is None:
            return None
        path, entry = (*path, key, index), values[index]
    probe = entry.get("probe")
    return ((*path, "probe"), probe) if isinstance(probe, dict) else None


def _by_name(values: Any) -> dict[str, Entry]:
    return {str(item.get("name")): item for item in _items(values)}


def _numbered(values: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(values if isinstance(values, list) else []):
        if isinstance(item, dict):
            yield index, item


def _items(values: Any) -> Iterator[dict[str, Any]]:
    yield from (item for _index, item in _numbered(values))
