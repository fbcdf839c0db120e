# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of exceptions in answers become sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.quota import is_quota_text
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.sentences import (
    _CLASSES,
    explained,
)

UNEXPECTED = (
    "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if"
    " possible.\n<class '{}'>"
)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "oslo_messaging.exceptions.MessagingTimeout",
            "the services of nova cannot reach each other through the message",
        ),
        ("oslo_db.exception.DBConnectionError", "nova cannot use its database"),
        ("keystoneauth1.exceptions.connection.ConnectFailure", "nova cannot reach another service of the cloud"),
        ("neutronclient.common.exceptions.ConnectionFailed", "nova cannot reach neutron"),
        ("glanceclient.exc.CommunicationError", "nova cannot reach glance"),
        ("neutronclient.common.exceptions.Unauthorized", "neutron does not accept the account of nova"),
        ("nova.exception.GlanceConnectionFailed", "nova cannot reach glance"),
        ("nova.exception.PlacementAPIConnectFailure", "nova cannot reach placement"),
        ("some.new.Problem", "nova failed with an unexpected error"),
    ],
)
def test_an_unexpected_error_is_told_without_the_request_to_report_it(name: str, sentence: str) -> None:
    told = explained(UNEXPECTED.format(name))
    assert told.startswith(sentence)
    assert told.endswith(f"({name})")
    assert "report" not in told


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("PortBindingFailed", "neutron cannot bind a port of the server to its host (PortBindingFailed)"),
        ("BuildAbortException", "nova gave up on the server (BuildAbortException)"),
        ("libvirtError", "the hypervisor failed (libvirtError)"),
        (
            "Timed out waiting for a reply to message ID 0b1e",
            (
                "the services of nova cannot reach each other through the message queue"
                " (Timed out waiting for a reply to message ID 0b1e)"
            ),
        ),
        (
            "Connection to glance host http://g:9292 failed: refused",
            "nova cannot reach glance (Connection to glance host http://g:9292 failed: refused)",
        ),
    ],
)
def test_a_fault_is_explained(fault: str, told: str) -> None:
    assert explained(fault) == told


@pytest.mark.parametrize("text", ["No valid host was found. ", "Quota exceeded for instances: 3 of 3", "Policy", ""])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert explained(text) == text


@given(st.text(max_size=300))
def test_no_text_loses_its_words(text: str) -> None:
    assert explained(text) == text or text.strip() in explained(text) or "<class '" in text


@pytest.mark.parametrize("name", sorted(_CLASSES))
def test_no_sentence_is_taken_for_a_quota_or_for_the_lack_of_a_host(name: str) -> None:
    told = explained(name)
    assert told != name
    assert not is_quota_text(told) and "No valid host" not in told
