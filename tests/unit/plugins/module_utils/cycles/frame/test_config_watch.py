# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When changed files are read, and what is told about those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.config_watch import (
    LOOK_EVERY,
    MISSED_AFTER,
    SETTLE,
    ConfigWatch,
    News,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.config_texts import parse, valid_document

CONFIG = parse(valid_document())


class Files:
    """Files by their stamps; counts what is done to them."""

    def __init__(self) -> None:
        self.main: dict[str, Any] = {"nodepool.yaml": (1, 1, 1), "secure.conf": (1, 1, 1)}
        self.clouds: dict[str, Any] = {"clouds.yaml": (1, 1, 1)}
        self.problems: list[str] = []
        self.looks = 0
        self.reads = 0

    def reload(self) -> Any:
        self.reads += 1
        if self.problems:
            raise ConfigError(self.problems)
        return CONFIG

    def stamps(self) -> dict[str, Any]:
        self.looks += 1
        return dict(self.main)

    def cloud_stamps(self) -> dict[str, Any]:
        return dict(self.clouds)


class Watching:
    """A watch whose owner comes every tenth of a second."""

    def __init__(self) -> None:
        self.files = Files()
        self.lines: list[str] = []
        self.watch = ConfigWatch(self.files, self.lines.append)
        self.now = 1000.0
        assert self.run(3.0) == []

    def run(self, seconds: float) -> list[tuple[float, News]]:
        """What came, and when."""
        found = []
        for step in range(1, round(seconds * 10) + 1):
            news = self.watch.poll(self.now + step / 10)
            if news is not None:
                found.append((step / 10, news))
        self.now += seconds
        return found


@pytest.fixture
def watching() -> Watching:
    return Watching()


@pytest.mark.parametrize("name", ["nodepool.yaml", "secure.conf"])
@pytest.mark.parametrize("stamp", [(2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_change_is_taken_once_and_soon(watching, name, stamp):
    watching.files.main[name] = stamp
    ((when, news),) = watching.run(20)
    assert SETTLE <= when <= LOOK_EVERY + SETTLE + 0.2
    assert news == News(CONFIG, clouds=False)
    assert watching.files.reads == 1


def test_clouds_yaml_alone_is_not_read_here(watching):
    watching.files.clouds["clouds.yaml"] = (2, 2, 2)
    ((_unused, news),) = watching.run(20)
    assert news == News(None, clouds=True)
    assert watching.lines == ["configuration: clouds.yaml changed, logging in again"]
    assert watching.files.reads == 0


def test_a_clouds_yaml_that_appears_is_a_change(watching):
    watching.files.clouds["/etc/openstack/clouds.yaml"] = (1, 1, 1)
    assert [news for _unused, news in watching.run(20)] == [News(None, clouds=True)]


def test_a_file_that_is_being_written_is_read_when_it_is_whole(watching):
    for size in range(2, 12):
        watching.files.main["nodepool.yaml"] = (size, size, 1)
        assert watching.run(0.9) == []
    assert len(watching.run(20)) == 1
    assert watching.files.reads == 1


def test_who_looks_at_once_knows_of_a_change_that_has_not_settled(watching):
    watching.files.main["nodepool.yaml"] = (2, 2, 2)
    assert watching.watch.poll(watching.now, at_once=True) is None
    assert watching.watch.settling
    assert watching.watch.poll(watching.now + SETTLE, at_once=True) == News(CONFIG)
    assert not watching.watch.settling


def test_a_change_that_is_undone_is_none(watching):
    watching.files.main["nodepool.yaml"] = (2, 2, 2)
    watching.run(0.5)
    watching.files.main["nodepool.yaml"] = (1, 1, 1)
    assert watching.run(20) == []


def test_a_file_that_vanishes_for_a_moment_has_not_changed(watching):
    stamp = watching.files.main.pop("nodepool.yaml")
    assert watching.run(MISSED_AFTER - LOOK_EVERY) == []
    watching.files.main["nodepool.yaml"] = stamp
    assert watching.run(20) == []
    assert watching.lines == []


def test_while_a_file_is_away_nothing_is_read(watching):
    watching.files.main = {"nodepool.yaml": (2, 2, 2)}
    assert watching.run(MISSED_AFTER - LOOK_EVERY) == []
    watching.files.main["secure.conf"] = (3, 3, 3)
    assert len(watching.run(20)) == 1
    assert watching.files.reads == 1


def test_a_file_that_stays_away_is_named_once_until_it_is_back(watching):
    stamp = watching.files.main.pop("nodepool.yaml")
    assert watching.run(60) == []
    assert len(watching.lines) == 1
    assert watching.watch.problems[0].startswith("nodepool.yaml: no longer exists")
    watching.files.main["nodepool.yaml"] = stamp
    watching.run(5)
    assert watching.watch.problems == []


def test_a_broken_file_is_read_and_told_once(watching):
    watching.files.problems = ["one", "two"]
    watching.files.main["nodepool.yaml"] = (2, 2, 2)
    assert watching.run(60) == []
    assert watching.files.reads == 1
    assert watching.watch.problems == ["one", "two"]
    assert watching.lines == [
        "configuration: one",
        "configuration: two",
        "configuration: cannot be used, the previous one stays in use",
    ]
    watching.files.problems = []
    watching.files.main["nodepool.yaml"] = (3, 3, 3)
    assert [news.config for _unused, news in watching.run(10)] == [CONFIG]
    assert watching.watch.problems == []


def test_a_broken_file_does_not_hide_new_credentials(watching):
    watching.files.problems = ["one"]
    watching.files.main["nodepool.yaml"] = (2, 2, 2)
    watching.files.clouds["clouds.yaml"] = (2, 2, 2)
    assert [news for _unused, news in watching.run(10)] == [News(None, clouds=True)]


def test_stamps_are_looked_at_no_more_often_than_said(watching):
    before = watching.files.looks
    watching.run(60)
    assert watching.files.looks - before <= 60 / LOOK_EVERY + 1


def test_a_clock_that_is_set_back_does_not_stop_the_looking(watching):
    watching.now -= 86400
    watching.files.main["nodepool.yaml"] = (2, 2, 2)
    assert watching.watch.due(watching.now) <= LOOK_EVERY


def test_news_that_was_not_taken_yet_is_not_lost():
    assert News(None, clouds=True).after(News(CONFIG)) == News(CONFIG, clouds=True)
    assert News(CONFIG).after(News(None, clouds=True)) == News(CONFIG, clouds=True)
