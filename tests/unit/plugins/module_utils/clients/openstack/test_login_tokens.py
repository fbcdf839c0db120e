# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a token is used, and what is told about tokens and clocks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.login import LONGEST_PAUSE, Login

START = 1_790_000_000.0


class Identity:
    """Gives tokens of one life; its clock may differ from ours."""

    def __init__(self, life: float | None, offset: float = 0.0) -> None:
        self.life = life
        self.offset = offset
        self.tokens = 0
        self.now = 0.0
        self.login = Login(self, clock=lambda: self.now, wall=lambda: START + self.now)

    def invalidate(self) -> None:
        """The login alone decides when a token is fetched."""

    def get_access(self, session: object) -> SimpleNamespace:
        self.tokens += 1
        issued = datetime.fromtimestamp(START + self.now + self.offset, UTC)
        expires = None if self.life is None else issued + timedelta(seconds=self.life)
        return SimpleNamespace(auth_token=f"t{self.tokens}", issued=issued, expires=expires, ends=self.now)

    def use(self) -> str:
        return str(self.login.access(None).auth_token)

    def told(self) -> list[str]:
        return sorted(self.login.remarks.by_subject().values())


@given(st.floats(1.0, 100_000.0), st.floats(-100_000.0, 100_000.0))
def test_a_token_is_used_for_nine_tenths_of_its_life_and_not_longer_than_it(life: float, offset: float) -> None:
    identity = Identity(life, offset)
    assert identity.use() == "t1"
    identity.now = life * 0.89
    assert identity.use() == "t1"
    identity.now = life
    assert identity.use() == "t2"


@pytest.mark.parametrize(("life", "offset"), [(90.0, 0.0), (119.0, 0.0), (3600.0, -3600.0), (3600.0, 3600.0)])
def test_no_call_costs_a_login_of_its_own(life: float, offset: float) -> None:
    identity = Identity(life, offset)
    for second in range(600):
        identity.now = float(second)
        identity.use()
    assert identity.tokens <= 600 / (0.9 * life) + 1


def test_a_token_whose_end_is_unknown_is_used_until_it_is_refused() -> None:
    identity = Identity(None)
    assert [identity.use(), identity.use()] == ["t1", "t1"]
    identity.now = 1e6
    assert identity.use() == "t1"
    identity.login.reject("t1")
    assert identity.use() == "t2"


def test_short_tokens_are_told_with_the_remedy() -> None:
    identity = Identity(60.0)
    identity.use()
    (text,) = identity.told()
    assert "live for 60 s, so this process logs in every 54 s" in text and "expiration in keystone" in text
    identity.life, identity.now = 3600.0, 60.0
    identity.use()
    assert identity.told() == []


@pytest.mark.parametrize(("offset", "words"), [(-3600.0, "1 h behind the clock"), (7200.0, "2 h ahead of the clock")])
def test_a_clock_that_is_off_is_told(offset: float, words: str) -> None:
    identity = Identity(3600.0, offset)
    identity.use()
    (text,) = identity.told()
    assert words in text and "NTP" in text


def test_of_an_ordinary_cloud_nothing_is_told() -> None:
    identity = Identity(3600.0, 2.0)
    identity.use()
    assert identity.told() == []


def test_a_revoked_token_is_replaced_at_once() -> None:
    identity = Identity(3600.0)
    identity.use()
    identity.now = 100.0
    identity.login.reject("t1")
    assert identity.use() == "t2"
    identity.login.reject("t1")
    assert identity.use() == "t2"


def test_a_service_that_refuses_new_tokens_does_not_cost_a_login_per_call() -> None:
    identity = Identity(3600.0)
    for second in range(3600):
        identity.now = float(second)
        identity.login.reject(identity.use())
    assert identity.tokens <= 3600 / LONGEST_PAUSE * 2 + 8
