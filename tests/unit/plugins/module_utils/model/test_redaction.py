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
        ('password: "correct horse, battery" ok', 'password: "***" ok'),
        ("password='it is' ok", "password='***' ok"),
        (r'password="a\"b c" ok', 'password="***" ok'),
        ('password: "not closed', 'password: "***'),
        (r"body: {\"password\": \"abc d\", \"a\": 1}", r"body: {\"password\": \"***\", \"a\": 1}"),
        ('password: "" ok', 'password: "" ok'),
        ("AWS_SECRET_ACCESS_KEY=abc/d", "AWS_SECRET_ACCESS_KEY=***"),
        ('"SecretAccessKey": "abc"', '"SecretAccessKey": "***"'),
        ("api_key=abc&x=1", "api_key=***&x=1"),
        ("passphrase: abc", "passphrase: ***"),
        ("mysql --password abc -e x", "mysql --password *** -e x"),
        ("openstack --os-token 'abc' x", "openstack --os-token '***' x"),
        ("> Authorization: Bearer abc.def", "> Authorization: Bearer ***"),
        ("-H 'authorization: Basic YWJj'", "-H 'authorization: Basic ***'"),
        ("the token expires; the secret is out; passwords: 3 were tried", None),
        ("token_type: bearer, password_expires_at: 2027", None),
        ("https://me:abc@mirror/x", "https://***@mirror/x"),
        (f"a\n{KEY}b", "a\n-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----\nb"),
        (KEY[20:], "***-----END OPENSSH PRIVATE KEY-----\n"),
        (KEY[:60], "-----BEGIN OPENSSH PRIVATE KEY-----***"),
        ("a 123 b", "a 123 b"),
    ],
)
def test_secrets_are_hidden(text: str, shown: str | None) -> None:
    """``None`` for a text without a secret."""
    assert redacted(text, ("hunter22", "123")) == (text if shown is None else shown)


def test_a_secret_that_contains_another_one_is_hidden_as_a_whole() -> None:
    assert redacted("hunter22-again", ("hunter22", "hunter22-again")) == "***"


def test_a_sentence_is_cut_after_it_was_cleaned() -> None:
    text = f"{'x' * LONGEST_LINE} password: abcdef hunter22"
    found = redacted_sentence(text, ("hunter22",), 40)
    assert found.endswith("password: *** ***") and len(found) <= 40
