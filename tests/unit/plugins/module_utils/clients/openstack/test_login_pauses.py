# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A login that is refused is not tried again at once."""

from __future__ import annotations

import pytest
from keystoneauth1 import exceptions

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.login import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Login,
)


class Identity:
    """Refuses until it is told otherwise."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.asked: list[float] = []
        self.now = 0.0
        self.login = Login(self, clock=lambda: self.now)

    def invalidate(self) -> None:
        """The login alone decides when a token is fetched."""

    def get_access(self, session: object) -> str:
        self.asked.append(self.now)
        if self.problem is not None:
            raise self.problem
        return "access"

    def want(self) -> str | None:
        try:
            return str(self.login.access(None))
        except exceptions.ClientException:
            return None


def nonsense() -> Exception:
    """What keystoneauth raises for a page of a proxy."""
    problem: Exception = exceptions.ClientException("not JSON")
    problem.__cause__ = ValueError("Expecting value")
    return problem


@pytest.mark.parametrize("refusal", [exceptions.Unauthorized(), exceptions.Forbidden(), nonsense()])
def test_an_hour_with_a_wrong_password_costs_few_logins(refusal):
    identity = Identity(refusal)
    for second in range(3600):
        identity.now = float(second)
        assert identity.want() is None
    assert len(identity.asked) <= 3600 / LONGEST_PAUSE + 5
    assert identity.asked[1] == FIRST_PAUSE + 1


def test_what_is_mended_at_the_other_side_is_noticed_within_the_longest_pause():
    identity = Identity(exceptions.Unauthorized())
    for second in range(1000):
        identity.now = float(second)
        identity.want()
    identity.problem = None
    identity.now += LONGEST_PAUSE + 1
    assert identity.want() == "access"


def test_after_a_success_the_first_pause_is_short_again():
    identity = Identity(exceptions.Unauthorized())
    for second in range(500):
        identity.now = float(second)
        identity.want()
    identity.problem = None
    identity.now += LONGEST_PAUSE + 1
    identity.want()
    identity.login._access = None
    identity.problem = exceptions.Unauthorized()
    identity.now += 1
    identity.want()
    identity.problem = None
    identity.now += FIRST_PAUSE + 0.1
    assert identity.want() == "access"


@pytest.mark.parametrize("trouble", [exceptions.ConnectFailure("no route"), exceptions.ServiceUnavailable()])
def test_an_identity_service_in_trouble_is_asked_again_at_once(trouble):
    identity = Identity(trouble)
    identity.want()
    identity.now += 0.1
    identity.problem = None
    assert identity.want() == "access"
