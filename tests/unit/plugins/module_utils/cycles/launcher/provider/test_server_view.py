# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of a provider as its lists show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.server_list import SLOW, Listing
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.server_view import ServerView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    Server,
)

SITE = "tree"


def server(ident: str, site: str = SITE, status: str = "ACTIVE") -> Server:
    marks = {META_NODE_ID: ident, META_PROVIDER: "east", META_SITE: site, META_LAUNCH: f"mark-{ident}"}
    return Server(ident, ident, status, metadata=marks, updated="1970-01-01T00:16:30Z")


class Nova:
    """Answers lists slowly, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.asked: list[str | None] = []

    def list_servers(self, changes_since: str | None = None) -> list[Server]:
        self.asked.append(changes_since)
        self.now += SLOW + 2.0
        return [server("a")]

    def waited(self, _ident: int) -> float:
        return 0.0


@dataclass
class Reading:
    """A fact that is read at once."""

    nova: Nova
    read: Callable[[], Listing]
    changed: Callable[[Any], None]
    value: Listing | None = None
    asked_at: float | None = None
    busy: bool = False

    def want(self, now: float) -> None:
        self.asked_at, self.value = now, self.read()
        self.changed(None)


@pytest.fixture
def nova() -> Nova:
    return Nova()


@pytest.fixture
def asked() -> list[tuple[str, Callable[..., None]]]:
    return []


@pytest.fixture
def view(nova, asked) -> ServerView:
    return ServerView(
        "east",
        SITE,
        lambda: nova,
        lambda: nova.now,
        lambda _what, read, _age, changed: Reading(nova, read, changed),  # type: ignore[arg-type,return-value]
        lambda ident, answered: asked.append((ident, answered)),
        lambda: 0.0,
    )


def test_a_list_is_taken_unless_a_later_one_is_there(view):
    view.take_list(Listing({"a": server("a")}), 50.0)
    view.take_list(Listing({"b": server("b")}), 40.0)
    assert (set(view.servers), view.listed_from) == ({"a"}, 50.0)


def test_marks_of_other_trees_are_not_ours(view):
    view.take_list(Listing({"a": server("a"), "b": server("b", site="another"), "c": server("c", site="")}), 50.0)
    assert set(view.by_mark()) == {"mark-a", "mark-c"}


def test_a_server_that_nova_does_not_know_is_gone(view, asked, nova):
    view.take_list(Listing({}), 50.0)
    assert not view.is_gone("a", 40.0, nova.now), "it is being asked"
    ((ident, answered),) = asked
    answered((nova.now, None), None)
    assert ident == "a" and view.is_gone("a", 40.0, nova.now)


def test_a_server_that_no_list_shows_but_nova_knows_is_there(view, asked, nova):
    view.take_list(Listing({}), 50.0)
    view.is_gone("a", 40.0, nova.now)
    asked[0][1]((nova.now, server("a")), None)
    assert not view.is_gone("a", 40.0, nova.now)
    assert set(view.servers) == {"a"}


def test_with_another_client_the_next_list_is_a_whole_one(view, nova):
    for _unused in range(2):
        view.want_list(nova.now)
    assert [since is None for since in nova.asked] == [True, False], "a slow cloud is asked for changes only"
    view.renew()
    view.want_list(nova.now)
    assert nova.asked[-1] is None


def deleted(view: ServerView, nova: Nova, *, patient: bool) -> None:
    """The only server of the project is deleted, and a list is empty."""
    view.take_list(Listing({"a": server("a")}), 1000.0)
    view.missing.leave("a", patient=patient)
    nova.now = 1100.0
    view.take_list(Listing({}), 1100.0)
    view.settle(nova.now)


def test_nova_is_asked_about_the_only_server_that_an_empty_list_lacks(view, nova, asked) -> None:
    deleted(view, nova, patient=False)
    assert "a" in view.servers and [ident for ident, _answered in asked] == ["a"]


def test_two_empty_lists_show_the_end_of_a_server_for_which_nobody_waits(view, nova, asked) -> None:
    deleted(view, nova, patient=True)
    assert "a" in view.servers and "a" in view.missing and not view.missing, "sweeps go on"
    view.take_list(Listing({}), 1200.0)
    assert "a" in view.servers, "so soon after the first it proves nothing"
    view.take_list(Listing({}), 1400.0)
    view.settle(nova.now)
    assert not view.servers and "a" not in view.missing and asked == []


def test_nova_is_asked_about_it_as_soon_as_somebody_waits(view, nova, asked) -> None:
    deleted(view, nova, patient=True)
    view.missing.hurry()
    view.settle(nova.now)
    assert "a" in view.servers and [ident for ident, _answered in asked] == ["a"]


def test_a_server_that_a_list_shows_again_is_there(view, nova, asked) -> None:
    deleted(view, nova, patient=True)
    view.take_list(Listing({"a": server("a")}), 1200.0)
    assert "a" in view.servers and "a" not in view.missing
    view.take_list(Listing({}), 1400.0)
    assert "a" in view.servers and asked == [], "the next empty list is the first one"
