# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several cycles in one tree: one acts for a provider, others stand by and take over."""

from __future__ import annotations

from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.launcher_process import START_SECONDS


def test_one_acts_the_other_stands_by_and_takes_over(site: Site):
    site.configure()
    requestor = site.requestor
    with site.stay() as first:
        eventually(first.acts)
        with site.stay() as second:
            assert second.store
            request = requestor.ask("small")
            requestor.wait_for(request)
            assert not second.acts()
            assert len(site.cloud.servers()) == 1
            result = first.end()
            assert (result["acted_for"], result["stood_by_for"]) == (["one"], [])
            eventually(second.acts)
            later = requestor.ask("medium")
            requestor.wait_for(later)
            result = second.end()
            assert result["requests"]["fulfilled"] == [later]
    assert len(site.cloud.servers()) == 2


def test_one_that_only_stands_by_reads_each_thing_once_and_changes_nothing(site: Site):
    site.configure()
    with site.stay() as first:
        eventually(first.acts)
        with site.stay() as second:
            assert second.store
            eventually(lambda: site.cloud.calls("GET /limits"))
            for _number in range(3):
                site.requestor.wait_for(site.requestor.ask("small"))
            result = second.end()
        assert (result["acted_for"], result["stood_by_for"], result["changed"]) == ([], ["one"], False)
        made = {kind: sum(answers.values()) for kind, answers in result["api_calls"]["one"].items()}
        assert {kind for kind in made if not kind.startswith("GET ")} <= {"POST /auth/tokens"}
        assert {kind: number for kind, number in made.items() if number > 1} == {}


def test_one_that_stood_by_takes_over_without_reading_anything_first(site: Site):
    slow = ("GET /limits", "GET /flavors/detail", "GET /images", "GET /os-availability-zone")
    site.configure()

    def read(times: int) -> bool:
        return all(len(site.cloud.calls(kind)) >= times for kind in slow)

    with site.stay() as first:
        eventually(first.acts)
        eventually(lambda: read(1))
        with site.stay() as second:
            assert second.store
            eventually(lambda: read(2))
            # A reading that it needed first would be slower than this test is patient.
            site.cloud.settings(latency=dict.fromkeys(slow, 20.0))
            first.end()
            site.requestor.wait_for(site.requestor.ask("small"), seconds=10.0)
            site.cloud.settings(latency={})


def test_boots_of_the_first_are_finished_by_the_second(site: Site):
    site.configure()
    site.cloud.settings(boot=2.0)
    request = site.requestor.ask("small", "small")
    with site.stay() as first:
        eventually(first.acts)
        with site.stay() as second:
            assert second.store
            eventually(lambda: len(site.cloud.servers()) == 2)
            first.end()
            site.requestor.wait_for(request)
            result = second.end()
    assert len(result["nodes"]["adopted"]) == 2
    assert len(site.cloud.calls("POST /servers")) == 2


def test_the_standby_takes_over_from_one_that_is_killed(site: Site):
    site.configure(zookeeper_timeout=2.0)
    site.cloud.settings(boot=1.0)
    requestor = site.requestor
    options = {**site.files(), "until": "deadline", "duration": 120}
    with ModuleProcess("node_launch", options, site.folder) as process:
        request = requestor.ask("small")
        eventually(site.cloud.servers, START_SECONDS)
        with site.stay() as second:
            assert second.store and not second.acts()
            process.kill()
            eventually(second.acts)
            requestor.wait_for(request)
    assert len(site.cloud.calls("POST /servers")) == 1


def test_two_cycles_with_a_provider_each_share_the_work(site: Site):
    site.configure(provider("one"), provider("two"))
    requestor = site.requestor
    with site.stay(providers=("one",)) as first, site.stay(providers=("two",)) as second:
        eventually(lambda: first.acts("one") and second.acts("two"))
        pinned = [requestor.ask("small", provider=name) for name in ("one", "two", "one", "two")]
        loose = [requestor.ask("small") for _unused in range(4)]
        for request in [*pinned, *loose]:
            requestor.wait_for(request)
        results = [first.end(), second.end()]
    assert [result["acted_for"] for result in results] == [["one"], ["two"]]
    fulfilled = [request for result in results for request in result["requests"]["fulfilled"]]
    assert sorted(fulfilled) == sorted([*pinned, *loose])
    places = [requestor.node(requestor.nodes_of(request)[0])["provider"] for request in pinned]
    assert places == ["one", "two", "one", "two"]
    assert len(requestor.nodes()) == 8
    assert sum(len(cloud.servers()) for cloud in site.clouds.values()) == 8


def test_a_label_that_only_the_other_cycles_provider_has_is_not_failed(site: Site):
    site.configure(provider("one"), provider("two", pool("main", label("exotic", flavor_name="small"))))
    requestor = site.requestor
    request = requestor.ask("exotic")
    with site.stay(providers=("one",)) as first:
        eventually(first.acts)
        other = requestor.ask("small")
        requestor.wait_for(other)
        requestor.wait_until_waiting(request, "not-acting")
        assert requestor.state(request) == "requested"
        with site.stay(providers=("two",)):
            requestor.wait_for(request)


def test_a_cycle_does_not_stay_for_what_others_have_to_do(site: Site):
    site.configure(provider("one"), provider("two", pool("main", label("exotic", flavor_name="small"))))
    request = site.requestor.ask("exotic")
    result = site.run(providers=("one",))
    assert [item["id"] for item in result["requests"]["waiting"]] == [request]
    site.run()
    assert site.requestor.nodes_of(request)


def test_a_label_of_a_pool_that_is_switched_off_fails_all_the_same(site: Site):
    site.configure(provider("one"), provider("two", pool("main", label("exotic", flavor_name="small"), max_servers=0)))
    request = site.requestor.ask("exotic")
    site.run(providers=("one",))
    assert site.requestor.state(request) == "failed"
