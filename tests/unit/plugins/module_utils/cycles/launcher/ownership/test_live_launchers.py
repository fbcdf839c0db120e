# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.live_launchers import (
    Here,
    LiveLaunchers,
    launcher_host,
    shown_name,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.assignment import LauncherHost
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

FOLDER = "/nodepool/stackci/live-launchers"


@pytest.fixture
def keeper():
    return MemoryZooKeeper(Agenda())


def live(keeper, host, **more):
    return LiveLaunchers(keeper.store(), Here(host, **more))


def test_all_launchers_see_the_registrations_of_all(keeper):
    one, two = live(keeper, "one", weight=2.0), live(keeper, "two", prefers=("east",), stays=False)
    one.register(["west", "east"], ready=True)
    two.register(["east"], ready=False)
    wants = frozenset({"east", "west"})
    assert (
        one.hosts()
        == two.hosts()
        == {
            "one": LauncherHost("one", 2.0, wants),
            "two": LauncherHost(
                "two", wants=frozenset({"east"}), prefers=frozenset({"east"}), stays=False, ready=False
            ),
        }
    )
    two.withdraw()
    assert one.hosts().keys() == {"one"} and one.count() == 1


def test_a_registration_is_written_only_when_it_changes(keeper):
    one = live(keeper, "one")
    one.register(["east"], ready=False)
    writes = keeper.writes
    one.register(["east"], ready=False)
    assert keeper.writes == writes
    one.register(["east"], ready=True)
    assert keeper.writes == writes + 1 and one.hosts()["one"].ready


def test_the_cycles_of_a_host_count_as_one_launcher(keeper):
    old, new = live(keeper, "one"), live(keeper, "one")
    old.register(["east", "gone"], ready=True)
    new.register(["east", "new"], ready=False)
    (host,) = new.hosts().values()
    assert (host.wants, host.ready, new.count()) == (frozenset({"east", "gone", "new"}), True, 2)


def test_who_acted_last_keeps_a_provider(keeper):
    one, two = live(keeper, "one"), live(keeper, "two")
    for launcher in (one, two):
        launcher.register(["east"], ready=True)
    for host in ("one", "two"):
        keeper.store().own.put("providers/east", {"host": host})
        assert one.targets(one.hosts()) == two.targets(two.hosts()) == {"east": host}
    keeper.store().own.put("providers/east", {"host": [7]})
    assert one.holder("east") is None
    assert one.targets(one.hosts()) == two.targets(two.hosts())


@pytest.mark.parametrize(
    ("document", "weight"),
    [({}, 1.0), ({"weight": "x"}, 1.0), ({"weight": 0}, 0.01), ({"weight": -3}, 0.01), ({"weight": 1e9}, 100.0)],
)
def test_a_weight_that_cannot_be_used_does_not_count(document, weight):
    assert launcher_host({"host": "a", **document}).weight == weight


@pytest.mark.parametrize("document", [{}, {"host": ""}, {"host": [3]}, {"host": None, "wants": ["east"]}])
def test_a_registration_without_a_host_is_ignored(keeper, document):
    assert launcher_host(document) is None
    one = live(keeper, "one")
    one.register(["east"], ready=True)
    one._store.components.register("live-launchers", "x", document, root="/nodepool/stackci")
    assert one.hosts().keys() == {"one"}


def test_values_of_a_wrong_type_do_not_hurt():
    assert launcher_host({"host": "a", "wants": 7, "prefers": {"x": 1}, "ready": "yes", "stays": 0}) == LauncherHost(
        "a", prefers=frozenset(), ready=False
    )


def test_a_host_has_its_folder_in_its_name_for_people_only_if_that_is_needed():
    assert shown_name("one:/run/a", ["one:/run/a", "two:/run/a"]) == "one"
    assert shown_name("one:/run/a", ["one:/run/a", "one:/run/b"]) == "one:/run/a"
    assert Here.of("/run/a").host.endswith(":/run/a") and Here.of(None).host.endswith(":")


def test_a_launcher_of_the_same_names_on_another_machine_is_a_twin(keeper):
    one, next_cycle, elsewhere = (live(keeper, "one", machine=machine) for machine in ("m1", "m1", "m2"))
    unknown, other = live(keeper, "one"), live(keeper, "two", machine="m3")
    for each in (one, next_cycle, unknown, other):
        each.register(["east"], ready=True)
    assert not any(each.has_twin() for each in (one, next_cycle, unknown, other))
    elsewhere.register(["east"], ready=True)
    assert one.has_twin() and elsewhere.has_twin() and not unknown.has_twin() and not other.has_twin()
    elsewhere.withdraw()
    assert not one.has_twin()


def test_a_machine_is_known_by_its_boot_and_the_folder(tmp_path):
    assert Here.of(str(tmp_path)).machine == Here.of(str(tmp_path)).machine != ""
    other = tmp_path / "other"
    other.mkdir()
    assert Here.of(str(other)).machine != Here.of(str(tmp_path)).machine
    assert Here.of(str(tmp_path / "none")).machine == Here.of(None).machine == ""
