# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One declaration serves every file: which keys it may have, their errors, defaults and inheritance."""

from __future__ import annotations

from dataclasses import dataclass

import jsonschema

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.build_config import _made
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.messages import problems_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.option_kinds import (
    needed_text,
    parts,
    seconds,
    switch,
    text,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import (
    NODEPOOL,
    SECURE,
    private_keys,
    section,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.problems import Place, Source
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import section_schema

OWN = "settings.yaml"
BOTH = (NODEPOOL, OWN)


@section("room", "A room.")
@dataclass(frozen=True)
class Room:
    """A section that has options in two files."""

    name: str = needed_text("Its name.", files=BOTH)
    height: int = seconds("In nodepool.yaml.", 5)
    probe_timeout: int = seconds("In a file of our own.", 60, least=1, files=(OWN,), inherits="house")
    code: str = text("A secret.", "", files=(OWN,), private=True)


@section("house", "A house.", alone={"ghost": switch("Without an attribute.", False)})
@dataclass(frozen=True)
class House:
    """The section around it."""

    name: str = needed_text("Its name.", files=BOTH)
    probe_timeout: int = seconds("For all rooms.", 30, least=1, files=(OWN,))
    rooms: dict[str, Room] = parts("Its rooms.", Room, files=BOTH)  # noqa: RUF009 - declares an option


def complaints(data, file):
    """What is said of the data of a file."""
    validator = jsonschema.Draft202012Validator(section_schema(House, file))
    source = Source(file, data, Place(1))
    return [source.sentence(problem) for problem in problems_of(validator.iter_errors(data), source)]


def test_each_file_has_its_keys_and_no_others():
    ours = {"name": "a", "probe-timeout": 5, "rooms": [{"name": "b", "probe-timeout": 7, "code": "x"}]}
    theirs = {"name": "a", "ghost": True, "rooms": [{"name": "b", "height": 2}]}
    assert complaints(ours, OWN) == complaints(theirs, NODEPOOL) == []
    assert complaints({"name": "a", "rooms": [{"name": "b", "probe-timeout": 7}]}, NODEPOOL) == [
        "nodepool.yaml:1: rooms[b].probe-timeout: is not a known key here and is ignored: remove it"
    ]
    assert complaints({"name": "a", "rooms": [{"name": "b", "probe-timeout": "5s"}]}, OWN) == [
        (
            "settings.yaml:1: rooms[b].probe-timeout: is the text '5s'; expected a whole number of seconds, "
            "1 or more: write the number alone, in seconds"
        )
    ]
    assert section_schema(House, SECURE)["properties"] == {}


def test_a_room_has_its_own_value_or_that_of_its_house_or_the_default():
    rooms = [{"name": "b", "probe-timeout": 7}, {"name": "c"}]
    house = _made(House, {"name": "a", "probe-timeout": 5, "rooms": rooms}, {})
    assert [room.probe_timeout for room in house.rooms.values()] == [7, 5]
    assert _made(House, {"name": "a", "rooms": [{"name": "c"}]}, {}).rooms["c"].probe_timeout == 30
    assert _made(Room, {"name": "c"}, {}).probe_timeout == 60


def test_what_is_private_is_told_by_the_declaration():
    assert private_keys(House) == {"code"}
    assert "geheim" not in repr(_made(Room, {"name": "c", "code": "geheim"}, {}))
