# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is doubtful and read all the same, as Nodepool reads it, with a warning."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from tests.support.config_texts import ZOOKEEPER, changed, complaints, parse, valid_document

EAST = "providers[east]"
SMALL = f"{EAST}.pools[main].labels[small]"
LABEL = ("providers", 0, "pools", 0, "labels", 0)


def without_line(problem):
    """The sentence without file and line."""
    return problem.split(": ", 1)[1]


@pytest.mark.parametrize(
    ("path", "where"),
    [
        (("labels",), "labels[small].name"),
        (("diskimages",), "diskimages[base].name"),
        (("providers",), "providers[east].name"),
        (("tenant-resource-limits",), "tenant-resource-limits[t].tenant-name"),
        (("providers", 0, "pools"), f"{EAST}.pools[main].name"),
        (("providers", 0, "diskimages"), f"{EAST}.diskimages[debian].name"),
        (("providers", 0, "cloud-images"), f"{EAST}.cloud-images[rocky].name"),
        (LABEL[:-1], f"{SMALL}.name"),
    ],
)
def test_names_that_stand_twice_are_told(path, where):
    document = valid_document()
    items: Any = document
    for step in path:
        items = items[step]
    items.append(copy.deepcopy(items[0]))
    sentence = (
        f"{where}: is also the name of entry number 1, and the last one is used, as in Nodepool: rename or remove one"
    )
    config = parse(document)
    assert [without_line(warning) for warning in config.warnings if "rack" not in warning] == [sentence]
    assert sentence in [without_line(problem) for problem in complaints(document, strict=True)]


def test_of_entries_with_one_name_the_last_one_counts():
    config = parse(
        ZOOKEEPER
        + """
labels: [{name: a, min-ready: 1}, {name: a, min-ready: 2}]
diskimages: [{name: i, elements: [x]}, {name: i, elements: [y]}]
providers:
- {name: p, cloud: one}
- name: p
  cloud: two
  diskimages: [{name: i, pause: true}, {name: i}]
  pools:
  - {name: m, max-servers: 1}
  - {name: m, max-servers: 2, labels: [{name: a, diskimage: i, min-ram: 1}, {name: a, diskimage: i, min-ram: 2}]}
tenant-resource-limits: [{tenant-name: t, max-servers: 1}, {tenant-name: t, max-cores: 2}]
""",
        "diskimages: [{name: i, env-vars: {A: '1', B: '1'}}, {name: i, env-vars: {B: '2'}}]",
    )
    provider = config.providers["p"]
    pool = provider.pools["m"]
    assert (config.labels["a"].min_ready, config.diskimages["i"].elements, provider.cloud) == (2, ("y",), "two")
    assert (provider.diskimages["i"].pause, pool.max_servers, pool.labels["a"].min_ram) == (False, 2, 2)
    assert config.tenant_limits["t"]["cores"] == 2 and config.tenant_limits["t"]["instances"] == math.inf
    assert config.diskimages["i"].env_vars == {"A": "1", "B": "2"}
    assert len(config.warnings) == 8 and "diskimages[1].name" in config.warnings[-1]


@pytest.mark.parametrize("images", [[], None, [{"name": "spare"}]])
def test_a_label_without_its_image_is_not_offered_and_the_rest_is(images):
    document = changed(("providers", 0, "diskimages"), images, changed(("providers", 1), ...))
    sentence = (
        f"{SMALL}.diskimage: names the diskimage 'debian', which this provider does not list, so the label is"
        f" not offered here: add the image to the provider's diskimages, or remove the label from the pool"
    )
    config = parse(document)
    assert [without_line(warning) for warning in config.warnings] == [sentence]
    assert list(config.providers["east"].pools["main"].labels) == ["large"]
    assert list(config.labels) == ["small", "large", "spare"]
    assert [without_line(problem) for problem in complaints(document, strict=True)] == [sentence]


def test_what_nodepool_converts_is_converted():
    document = changed(("providers", 0, "rate"), "2.0", changed(("providers", 1), ...))
    document |= {"zookeeper-timeout": "20", "max-hold-age": -1}
    document["labels"][0]["max-ready-age"] = -1
    document["diskimages"][1]["env-vars"] = {"DIB_DEBUG_TRACE": 1, "VERSION": 1.1, "TEXT": "x"}
    config = parse(document, "diskimages: [{name: debian, env-vars: {TOKEN: 12345}}]")
    assert (config.providers["east"].rate, config.zookeeper.timeout) == (2.0, 20.0)
    assert (config.max_hold_age, config.labels["small"].max_ready_age) == (0, 0)
    assert config.diskimages["debian"].env_vars == {
        "A": "1",
        "DIB_DEBUG_TRACE": "1",
        "VERSION": "1.1",
        "TEXT": "x",
        "TOKEN": "12345",
    }
    assert sorted(without_line(warning).split(": ")[0] for warning in config.warnings) == [
        "diskimages[0].env-vars.TOKEN",
        "diskimages[debian].env-vars.DIB_DEBUG_TRACE",
        "diskimages[debian].env-vars.VERSION",
        f"{EAST}.rate",
        "zookeeper-timeout",
    ]
    assert "12345" not in str(config.warnings)
    assert len(complaints(document, strict=True)) == 4


def test_the_web_service_has_its_section():
    config = parse(changed(("webapp",), {"port": 8006}, changed(("providers", 1), ...)), strict=True)
    assert (config.warnings, config.webapp.port, config.webapp.listen_address) == ((), 8006, "127.0.0.1")
