# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A provider moves between launchers of both kinds, guided by the playbook."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.ansible_run import command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, provider

PLAYBOOK = "stackci.nodepool.change_over"


class Change:
    """The files of both, and Nodepool's launcher as far as others see it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.stock = site.folder / "stock.yaml"
        self._registration = ""

    def files(self, ours: str, theirs: str) -> None:
        """Write both; each is a list of names."""
        self._site.configure(*map(provider, theirs.split()))
        self.stock.write_text(self._site.config.read_text("utf-8"), encoding="utf-8")
        self._site.configure(*map(provider, ours.split()))

    def register(self, name: str) -> None:
        """Nodepool's launcher begins to work on a provider."""
        self._registration = self._site.requestor.register_pool(f"vm-PoolWorker.{name}-main-1", "small", provider=name)

    def leave(self) -> None:
        """It has read that it must not any more."""
        self._site.requestor.client.delete(self._registration)

    def acts(self, name: str) -> bool:
        """Whether our launcher acts for the provider."""
        return bool(self._site.requestor.children(f"/nodepool/stackci/providers/{name}/lock"))

    def play(self, to: str = "collection", **more: Any) -> tuple[bool, str]:
        """Whether the playbook went through, and what it said."""
        given = {
            "nodepool_config": str(self._site.config),
            "change_over_stock_config": str(self.stock),
            "change_over_provider": "two",
            "change_over_to": to,
            "change_over_wait": 30,
            "change_over_pause": 1,
            **more,
        }
        done = command("ansible-playbook", PLAYBOOK, "-e", json.dumps(given), folder=self._site.folder, timeout=180)
        return done.returncode == 0, " ".join((done.stdout + done.stderr).split())


def refused(outcome: tuple[bool, str], *texts: str) -> None:
    went, said = outcome
    assert not went and all(text in said for text in texts), said


@pytest.mark.long
def test_a_provider_moves_to_this_collection_and_back(site: Site):
    change = Change(site)
    change.files(ours="one", theirs="two three")
    change.register("two")
    with site.stay():
        eventually(lambda: change.acts("one"))
        refused(change.play(), f"add provider two to {site.config}")
        change.files(ours="one two", theirs="two three")
        refused(change.play(), f"both name provider two: remove it from {change.stock}")
        assert not change.acts("two")
        change.files(ours="one two", theirs="three")
        refused(change.play(change_over_wait=1), "the launcher of Nodepool on other works on it", "read their files")
        change.leave()
        went, said = change.play()
        assert went and "the launcher of this collection acts for it" in said, said

        refused(change.play("nodepool"), f"add provider two to {change.stock}")
        change.files(ours="one two", theirs="two three")
        change.register("two")
        refused(change.play("nodepool"), f"both name provider two: remove it from {site.config}")
        assert not change.acts("two")
        change.files(ours="one", theirs="two three")
        went, said = change.play("nodepool")
        assert went and "the launcher of Nodepool works on it" in said, said


def test_two_files_with_the_same_provider_are_refused(site: Site):
    change = Change(site)
    change.files(ours="one two", theirs="one two")
    refused(change.play(), "both name one: only one launcher may work on a provider")
    change.files(ours="one two cluster", theirs="two")
    stock = json.loads(change.stock.read_text("utf-8"))
    stock["providers"].append({"name": "cluster", "driver": "kubernetes", "pools": []})
    change.stock.write_text(json.dumps(stock), "utf-8")
    refused(change.play(), "both name cluster: only one launcher may work on a provider")
    refused(change.play(change_over_to="elsewhere"), "name the provider, the direction and the file")
