# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a file of Zuul's objects with Zuul's own parsers, run by Zuul's Python: ``python zuul_loader.py FILE``.

It prints a JSON object: provider → its labels, each with image, flavor and other attributes after all inheritance, as
zuul-launcher gets them. It imports nothing of the project.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import yaml
from zuul import configloader, model  # type: ignore[import-not-found]
from zuul.driver.openstack import OpenstackDriver  # type: ignore[import-not-found]
from zuul.driver.openstack.openstackprovider import (  # type: ignore[import-not-found]
    OpenstackProviderFlavor,
    OpenstackProviderImage,
    OpenstackProviderLabel,
)

PARSERS = {
    "image": configloader.ImageParser,
    "flavor": configloader.FlavorParser,
    "label": configloader.LabelParser,
    "section": configloader.SectionParser,
    "provider": configloader.ProviderParser,
}


def parsed(path: str) -> dict[str, dict[str, Any]]:
    """The objects of each kind, by name."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in PARSERS}
    context = model.SourceContext("example.org/config", "config", "example.org", "main", "zuul.yaml")
    with open(path, encoding="utf-8") as file:
        for item in yaml.safe_load(file):
            ((kind, document),) = item.items()
            place = SimpleNamespace(name="zuul.yaml", line=1, column=0, index=0)
            mark = model.ZuulMark(place, place, "")
            document.update(_source_context=context, _start_mark=mark)
            made = PARSERS[kind](None).fromYaml(document)
            assert made.name not in found[kind], f"{kind} {made.name} is there twice"
            found[kind][made.name] = made
    return found


def main(path: str) -> None:
    """Load the file as scheduler and launcher do."""
    found = parsed(path)
    layout = SimpleNamespace(
        images=found["image"], flavors=found["flavor"], labels=found["label"], sections=found["section"]
    )
    driver = OpenstackDriver()
    names = {section.connection for section in found["section"].values()}
    connections = {name: SimpleNamespace(driver=driver, connection_name=name) for name in names}
    for label in found["label"].values():
        label.validateReferences(layout)
    shown: dict[str, Any] = {}
    for name, provider in found["provider"].items():
        flat = provider.flattenConfig(layout, connections)
        images = {one["name"]: OpenstackProviderImage(one, flat, "qcow2") for one in flat["images"]}
        flavors = {one["name"]: OpenstackProviderFlavor(one, flat) for one in flat["flavors"]}
        labels = {one["name"]: OpenstackProviderLabel(one, flat) for one in flat["labels"]}
        for label in labels.values():
            label.inheritFrom(images[label.image], flavors[label.flavor])
        shown[name] = {
            "labels": {
                key: {part: value for part, value in vars(label).items() if part not in ("config_hash",)}
                for key, label in labels.items()
            },
            "images": {key: image.canonical_name for key, image in images.items()},
            "flavors": {key: flavor.flavor_name for key, flavor in flavors.items()},
            "limits": flat.get("resource-limits", {}),
        }
    print(json.dumps(shown))


if __name__ == "__main__":
    main(sys.argv[1])
