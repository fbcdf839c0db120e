# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node prints is shown without what is secret."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.redaction import (
    LONGEST_LINE,
    redacted,
    redacted_sentence,
)

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\nAAAAQQ\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the disk is full", "the disk is full"),
        ("login hunter22 refused", "login *** refused"),
        ("PASSWORD=abc next", "PASSWORD=*** next"),
        ('{"token": "abc"}', '{"token": "***"}'),
        ("passwd: abc\nok\n", "passwd: ***\nok\n"),
        ("https://me:abc@mirror/x", "https://***@mirror/x"),
        (f"a\n{KEY}b", "a\n-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----\nb"),
        (KEY[20:], "***-----END OPENSSH PRIVATE KEY-----\n"),
        (KEY[:60], "-----BEGIN OPENSSH PRIVATE KEY-----***"),
        ("a 123 b", "a 123 b"),
    ],
)
def test_secrets_are_hidden(text: str, shown: str) -> None:
    assert redacted(text, ("hunter22", "123")) == shown


def test_a_secret_that_contains_another_one_is_hidden_as_a_whole() -> None:
    assert redacted("hunter22-again", ("hunter22", "hunter22-again")) == "***"


def test_a_sentence_is_cut_after_it_was_cleaned() -> None:
    text = f"{'x' * LONGEST_LINE} password: abcdef hunter22"
    found = redacted_sentence(text, ("hunter22",), 40)
    assert found.endswith("password: *** ***") and len(found) <= 40
