# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.json_values import number
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.paging import pages
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudNotFound,
    CloudRefused,
    CloudUnavailable,
)


def same(item: dict[str, Any]) -> dict[str, Any]:
    return item


def service(items: list[dict[str, Any]], most: int, links: bool, calls: list[str | None]) -> Any:
    def fetch(marker: str | None) -> dict[str, Any]:
        calls.append(marker)
        ids = [item["id"] for item in items]
        start = 0 if marker is None else ids.index(marker) + 1
        page = items[start : start + most]
        document: dict[str, Any] = {"things": page}
        if links and start + most < len(items):
            document["things_links"] = [{"rel": "next", "href": "https://unreachable.example/"}]
        return document

    return fetch


@given(st.integers(0, 60), st.integers(1, 20), st.booleans())
def test_every_item_once_and_in_order(count: int, most: int, links: bool) -> None:
    items = [{"id": str(number)} for number in range(count)]
    calls: list[str | None] = []
    asked = 50 if links else most
    assert pages(service(items, most, links, calls), "things", asked, same, CloudUnavailable) == items
    assert len(calls) <= count // most + 1


def test_documents_of_a_page_are_dropped_before_the_next_is_read() -> None:
    class Item(dict[str, Any]):
        """One that can be referred to weakly."""

    kept: list[weakref.ref[Item]] = []

    def fetch(marker: str | None) -> dict[str, Any]:
        assert not [ref for ref in kept if ref() is not None]
        start = 0 if marker is None else int(marker) + 1
        page = [Item(id=str(number)) for number in range(start, start + 3)]
        kept.extend(map(weakref.ref, page))
        return {"things": page, "things_links": [{"rel": "next"}] if start < 6 else []}

    made = pages(fetch, "things", 3, lambda item: int(item["id"]), CloudUnavailable)
    assert made == list(range(9))


@pytest.mark.parametrize(
    "refusal",
    [
        CloudRefused("marker [1] not found", status=400),
        CloudRefused("No image found with ID 1", status=400),
        CloudNotFound("Port 1 could not be found.", status=404),
        CloudNotFound("Volume 1 could not be found.", status=404),
    ],
    ids=["nova", "glance", "neutron", "cinder"],
)
def test_a_marker_that_vanished_starts_the_listing_again(refusal: CloudRefused) -> None:
    answers: list[Any] = [
        {"things": [{"id": "1"}], "things_links": [{"rel": "next"}]},
        refusal,
        {"things": [{"id": "2"}]},
    ]

    def fetch(_marker: str | None) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert pages(fetch, "things", 1000, same, CloudUnavailable) == [{"id": "2"}]


@pytest.mark.parametrize(("first", "status", "calls"), [(True, 404, 1), (False, 403, 2), (False, 404, 6)])
def test_other_refusals_are_passed_on(first: bool, status: int, calls: int) -> None:
    asked: list[str | None] = []

    def fetch(marker: str | None) -> Any:
        asked.append(marker)
        if marker is None and not first:
            return {"things": [{"id": "1"}], "things_links": [{"rel": "next"}]}
        raise CloudRefused("no", status=status)

    with pytest.raises(CloudRefused, match="no"):
        pages(fetch, "things", 1000, same, CloudUnavailable)
    assert len(asked) == calls


def test_a_listing_that_never_ends_is_given_up() -> None:
    def fetch(_marker: str | None) -> Any:
        return {"things": [{"id": "1"}], "things_links": [{"rel": "next"}]}

    with pytest.raises(CloudError, match="same page again"):
        pages(fetch, "things", 1000, same, CloudUnavailable)


def test_an_item_that_cannot_be_read_does_not_lose_the_others() -> None:
    items: list[Any] = [{"id": str(number), "size": number} for number in range(500)]
    items[77] = {"id": "77", "size": None}
    items[78] = {"name": "no id"}
    items[499] = None
    told: list[str] = []
    made = pages(
        lambda _marker: {"things": items},
        "things",
        1000,
        lambda item: number(item, "size"),
        CloudUnavailable,
        told.append,
    )
    assert made == [size for size in range(499) if size not in (77, 78)]
    assert told == ["3 of 500 things cannot be read and are ignored (size is null where a number belongs)"]


def test_of_a_list_that_can_be_read_nothing_is_told() -> None:
    told: list[str] = []
    pages(lambda _marker: {"things": [{"id": 1}]}, "things", 1000, same, CloudUnavailable, told.append)
    assert told == [""]


@pytest.mark.parametrize("things", [{}, "x", [1], [{}], [{"id": None}]])
def test_what_is_no_list_of_objects_is_an_error(things: Any) -> None:
    with pytest.raises(CloudUnavailable):
        pages(lambda _marker: {"things": things}, "things", 1000, same, CloudUnavailable)
