# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Troubles made in the simulated cloud: the first screen, as the module shows it, names the cause and the remedy.

All causes are in the unit test ``test_blind_trial.py``; here some of them come from a launcher that meets them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.support.ansible_run import run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

CREATE = "POST /servers"
QUOTA = "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances"
PATIENCE = 30.0


def api_answers_503(site: Site) -> None:
    site.requestor.wait_for(site.requestor.ask("small"), seconds=PATIENCE)
    site.cloud.fault("*", "status", status=503)
    site.requestor.ask("small")


def label_has_no_flavor(site: Site) -> None:
    site.requestor.wait_for(site.requestor.ask("lrage"), "failed", seconds=PATIENCE)


def no_pool_offers_the_label(site: Site) -> None:
    site.requestor.ask("typo")


def quota_is_lower_than_its_limits_say(site: Site) -> None:
    site.cloud.fault(CREATE, "status", status=403, body={"forbidden": {"code": 403, "message": QUOTA}})
    site.requestor.ask("small")


def no_host_takes_the_flavor(site: Site) -> None:
    site.cloud.fault(CREATE, "error", seconds=0.0, message="No valid host was found.")
    for _turn in range(3):
        site.requestor.ask("small")


def somebody_breaks_the_file(site: Site) -> None:
    site.config.write_text("labels: 7\n", encoding="utf-8")


TROUBLES: dict[Callable[[Site], None], tuple[tuple[str, ...], str]] = {
    api_answers_503: (("one", "503"), "tell the operators of the cloud"),
    label_has_no_flavor: (("one/main", "lrage", "[owner: label]"), "correct the label in nodepool.yaml"),
    no_pool_offers_the_label: (
        ("one/main does not offer label typo", "[owner: label]"),
        "correct the label in nodepool.yaml",
    ),
    quota_is_lower_than_its_limits_say: (("one/main", "frozen", QUOTA), "end it by hand after the limit was raised"),
    no_host_takes_the_flavor: (("one/main: frozen", "No valid host was found"), "none is needed"),
    somebody_breaks_the_file: (("nodepool.yaml:1: labels: is the number 7",), "correct the file that is named"),
}


@pytest.mark.parametrize("make", TROUBLES, ids=lambda make: make.__name__)
def test_a_trouble_of_the_cloud_is_on_the_first_screen_with_its_remedy(site: Site, make: Callable[[Site], None]):
    told, remedy = TROUBLES[make]
    site.configure(provider("one", pool("main", label("small"), label("lrage", flavor_name="lrage"))))
    # Whoever looks may have another file than the launcher.
    kept = site.folder / "looking.yaml"
    shutil.copy(site.config, kept)

    def named() -> bool:
        lines = run_alone("nodepool_status", {"config": str(kept), "width": 300}, site.folder).result["lines"]
        screen = " ".join(" ".join(lines[1 : lines.index("PROVIDERS (# ours, - others)")]).split())
        return all(words in screen for words in (*told, remedy))

    with site.stay(api_timeout=2.0) as cycle:
        eventually(cycle.acts, PATIENCE)
        make(site)
        eventually(named, PATIENCE)
        site.cloud.clear_faults()
