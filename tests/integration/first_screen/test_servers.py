# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that fail, do not answer or do not go: the first screen names whose fault it is, and what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.launches import create_limits
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.removals import removals
from tests.support.first_screen import PATIENCE, Trouble, ask_long_ago, assert_named_while_a_launcher_works
from tests.support.launcher_case import Site, label, pool, provider

CREATE, DELETE = "POST /servers", "DELETE /servers/{id}"


def with_guests(site: Site) -> None:
    site.add_cloud("one", "guest")
    images = [{"name": "debian-12", "username": "zuul", "connection-port": site.cloud.ssh_port()}]
    checked = pool("main", label("small"), host_key_checking=True)
    site.configure(provider("one", checked, boot_timeout=2, launch_retries=1, cloud_images=images))


def no_guest_answers(site: Site) -> None:
    site.cloud.fault(CREATE, "unreachable")
    site.requestor.ask("small")


def without_retries(site: Site) -> None:
    site.configure(provider("one", pool("main", label("small")), launch_retries=1))


def the_image_is_unusable(site: Site) -> None:
    site.cloud.fault(CREATE, "error", seconds=0.0, message="Image 1 is unacceptable: not raw")
    for _turn in range(3):
        site.requestor.ask("small")


def the_servers_fail_in_words_that_nobody_knows(site: Site) -> None:
    site.cloud.fault(CREATE, "error", seconds=0.0, message="The flux capacitor is empty")
    for _turn in range(6):
        ask_long_ago(site)


def creates_are_not_answered(site: Site) -> None:
    site.cloud.fault(CREATE, "hang")
    ask_long_ago(site)


def servers_stay_in_build(site: Site) -> None:
    site.cloud.fault(CREATE, "stuck_build")
    ask_long_ago(site)


def a_deletion_is_refused(site: Site) -> None:
    site.cloud.fault(DELETE, "status", status=409, message="Instance is locked")
    _use_one(site)


def a_deletion_is_accepted_and_not_done(site: Site) -> None:
    site.cloud.fault(DELETE, "lost_delete")
    _use_one(site)


def _use_one(site: Site) -> None:
    request = site.requestor.ask("small")
    site.requestor.wait_for(request, seconds=PATIENCE)
    site.requestor.give_back(*site.requestor.accept(request))


def ghosts(site: Site) -> None:
    request = site.requestor.ask("small")
    site.requestor.wait_for(request, seconds=PATIENCE)
    site.cloud.fault(CREATE, "ghost", of="*")
    ask_long_ago(site)


TROUBLES: dict[Callable[[Site], None], Trouble] = {
    no_guest_answers: Trouble(
        ("one/main", "unreachable: no host key from", "[owner: image]"), "correct the image", begin=with_guests
    ),
    the_image_is_unusable: Trouble(
        ("one/main", "Image 1 is unacceptable", "[owner: image]"),
        "correct the image and build it",
        begin=without_retries,
    ),
    the_servers_fail_in_words_that_nobody_knows: Trouble(
        ("debian-12 with small failed 5 times", "The flux capacitor is empty"), "see why its servers fail"
    ),
    creates_are_not_answered: Trouble(("one/main", "[owner: cloud]"), "see what one of them waits for"),
    servers_stay_in_build: Trouble(
        ("one/main", "is not ACTIVE yet", "[owner: cloud]"), "see what one of them waits for"
    ),
    a_deletion_is_refused: Trouble(("one", "Instance is locked"), "ask the operators of the cloud to delete"),
    a_deletion_is_accepted_and_not_done: Trouble(
        ("one", "1 deletion stuck"), "ask the operators of the cloud to delete"
    ),
    ghosts: Trouble(
        ("one/main", "one machine answers for both", "[owner: network]"), "see what one of them", begin=with_guests
    ),
}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not go is asked for again, and one that does not come is told, after a second or two."""
    monkeypatch.setattr(removals, "ASK_AGAIN", 1.0)
    monkeypatch.setattr(create_limits, "LONG_BOOT", 2.0)


@pytest.mark.parametrize("make", TROUBLES, ids=lambda make: make.__name__)
def test_it_is_named(site: Site, make: Callable[[Site], None]) -> None:
    assert_named_while_a_launcher_works(site, make, TROUBLES[make])
