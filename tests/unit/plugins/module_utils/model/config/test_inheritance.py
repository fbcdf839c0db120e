# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inheritance of diskimages: a few cases by hand, the rest as properties."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.inheritance import (
    OVERRIDDEN,
    SWITCHED_OFF,
    cycle_from,
    ineffective_keys,
    lineage,
    merged,
)
from tests.support.config_texts import ZOOKEEPER, complaints, parse


def named(*images):
    return {image["name"]: image for image in images}


@st.composite
def forests(draw):
    """Images whose parent is any image before them, or none."""
    count = draw(st.integers(1, 8))
    images = []
    for index in range(count):
        image: dict[str, Any] = {"name": f"i{index}"}
        if index and draw(st.booleans()):
            image["parent"] = f"i{draw(st.integers(0, index - 1))}"
        image["elements"] = draw(st.lists(st.sampled_from("abc"), max_size=3))
        image["env-vars"] = draw(st.dictionaries(st.sampled_from("XYZ"), st.text(max_size=2), max_size=3))
        for key in draw(st.sets(st.sampled_from(OVERRIDDEN))):
            image[key] = draw(st.sampled_from([None, 0, "", False, [], index + 1, f"v{index}", True]))
        if draw(st.booleans()):
            image["metadata"] = {"of": image["name"]}
        images.append(image)
    return named(*images)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forests())
def test_what_an_image_gets_is_told_by_its_parent_and_itself_alone(images):
    for image in images.values():
        got = merged(image, images)
        parent = merged(images[image["parent"]], images) if "parent" in image else {"elements": [], "env-vars": {}}
        assert got["elements"] == parent["elements"] + image["elements"]
        assert got["env-vars"] == {**parent["env-vars"], **image["env-vars"]}
        assert got["metadata"] == image.get("metadata")
        for key in OVERRIDDEN:
            switched_off = key in SWITCHED_OFF and image.get(key) is False
            assert got.get(key) == (False if switched_off else image.get(key) or parent.get(key))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forests())
def test_writing_the_inheritance_out_changes_nothing(images):
    flat = {name: merged(image, images) for name, image in images.items()}
    for name, image in flat.items():
        assert "parent" not in image
        assert merged(image, flat) == image, name


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forests())
def test_a_forest_has_no_cycle_and_its_lines_begin_at_a_root(images):
    for image in images.values():
        assert cycle_from(image, images) == []
        line = lineage(image, images)
        assert line[-1] is image
        assert "parent" not in line[0]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("abcdefg"), min_size=1))
def test_lineage_ends_and_a_cycle_is_told_by_those_on_it(parents):
    images = named(*({"name": name, "parent": parent} for name, parent in parents.items()))
    for name, image in images.items():
        seen, place = [], name
        while place in parents and place not in seen:
            seen.append(place)
            place = parents[place]
        assert bool(cycle_from(image, images)) == (place == name)
        assert len(lineage(image, images)) == len(seen)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forests())
def test_ineffective_keys_are_those_where_an_empty_value_meets_a_set_one(images):
    for image in images.values():
        told = {key for key, _unused in ineffective_keys(image, images)}
        rest = merged(images[image["parent"]], images) if "parent" in image else {}
        empty = {key for key in OVERRIDDEN if image.get(key) is not None and not image[key] and rest.get(key)}
        assert told == {key for key in empty if key not in SWITCHED_OFF or image[key] is not False}


def test_a_chain_through_yaml():
    config = parse(
        ZOOKEEPER
        + """
diskimages:
  - {name: leaf, parent: middle, elements: [c], env-vars: {B: '3'}, formats: [raw]}
  - {name: middle, parent: base, abstract: true, elements: [b], env-vars: {B: '2', C: '2'}, formats: [vhd]}
  - {name: base, abstract: true, elements: [a], env-vars: {A: '1', B: '1'}, release: 9, metadata: {not: inherited}}
"""
    )
    leaf = config.diskimages["leaf"]
    assert list(config.diskimages) == ["leaf"]
    assert leaf.elements == ("a", "b", "c")
    assert leaf.env_vars == {"A": "1", "B": "3", "C": "2"}
    assert (leaf.formats, leaf.release, leaf.metadata) == (("raw",), "9", {})


def test_files_that_a_site_means_to_keep_are_kept_as_in_nodepool():
    """``setFromConfig`` of Nodepool 11.0.0 takes delete-after-upload unless it is None."""
    key = "delete-after-upload"
    config = parse(ZOOKEEPER + f"diskimages: [{{name: b, {key}: true}}, {{name: c, parent: b, {key}: false}}]")
    assert config.diskimages["b"].delete_after_upload is True
    assert config.diskimages["c"].delete_after_upload is False
    assert config.warnings == ()


def test_a_parent_is_not_switched_off_as_in_nodepool_but_said_so():
    config = parse(ZOOKEEPER + "diskimages: [{name: b, pause: true}, {name: c, parent: b, pause: false}]")
    assert config.diskimages["c"].pause is True
    assert config.warnings == (
        (
            "nodepool.yaml:2: diskimages[c].pause: cannot disable what the parent b enables, as in Nodepool:"
            " set it in the images that need it and not in the parent"
        ),
    )


def test_a_cycle_is_told_for_each_image_on_it_and_only_there():
    images = "[{name: a, parent: b}, {name: b, parent: a}, {name: c, parent: a}, {name: d, parent: d}]"
    assert complaints(ZOOKEEPER + f"diskimages: {images}") == [
        "nodepool.yaml:2: diskimages[a].parent: inherits from itself (a → b → a): remove one parent",
        "nodepool.yaml:2: diskimages[b].parent: inherits from itself (b → a → b): remove one parent",
        "nodepool.yaml:2: diskimages[d].parent: inherits from itself (d → d): remove one parent",
    ]


def test_a_missing_parent():
    (problem,) = complaints(ZOOKEEPER + "diskimages:\n- {name: base}\n- name: c\n  parent: bse\n")
    assert problem == (
        "nodepool.yaml:5: diskimages[c].parent: names the diskimage 'bse', which is not defined in diskimages: "
        "did you mean base?"
    )
