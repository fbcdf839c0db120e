# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fact that is not had: its owner and its remedy."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.lacks import LIMITS, Lack
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudError,
    CloudRefused,
    CloudUnavailable,
)


@pytest.mark.parametrize(
    ("error", "owner", "lasting"),
    [
        (CloudRefused("no", status=403), "account", True),
        (CloudAuthError("no", status=401), "account", True),
        (CloudRefused("no", status=404), "cloud", True),
        (CloudUnavailable("a page", status=200), "cloud", True),
        (CloudUnavailable("not implemented", status=501), "cloud", True),
        (CloudUnavailable("503", status=503), "cloud", False),
        (CloudUnavailable("429", status=429), "cloud", False),
        (CloudUnavailable("no answer"), "cloud", False),
    ],
)
def test_owner(error: CloudError, owner: str, lasting: bool):
    lack = Lack("GET /networks", error, 0.0)
    assert (lack.owner, lack.lasting) == (owner, lasting)
    assert lack.text("east").startswith(f"provider east: {error}")


def test_forbidden_limits_name_the_setting_that_does_without_them():
    text = Lack(LIMITS, CloudRefused("provider east: no", status=403), 0.0, used="goes on").text("east")
    assert text.startswith("provider east: no; goes on; ") and "ignore-provider-quota" in text and "policy" in text


def test_a_refused_login_is_told_as_it_is():
    text = Lack(LIMITS, CloudAuthError("provider east: no login (401)", status=401), 0.0).text("east")
    assert text == "provider east: no login (401)"
