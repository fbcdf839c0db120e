# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account in ZooKeeper, in secure.conf."""

from __future__ import annotations

import pytest

from tests.support.config_texts import complaints, parse, valid_document

ACCOUNT = "zookeeper-auth: {scheme: digest, username: launcher, password: hunter2, protect: true}"


def test_the_account_in_zookeeper_is_read_and_never_shown():
    config = parse(valid_document(), f"{ACCOUNT}\n")
    account = config.zookeeper.auth
    assert account is not None
    assert (account.scheme, account.username, account.protect) == ("digest", "launcher", True)
    assert account.password == "hunter2"
    assert "hunter2" not in repr(config)
    assert parse(valid_document()).zookeeper.auth is None


@pytest.mark.parametrize(
    ("account", "sentence"),
    [
        ("{username: a}", "zookeeper-auth: lacks 'password': add it"),
        ("{password: hunter2}", "zookeeper-auth: lacks 'username': add it"),
        (
            "{username: 'a:b', password: hunter2}",
            (
                "zookeeper-auth.username: cannot be the name of an account: leave out colons, blanks and control "
                "characters"
            ),
        ),
        (
            "{username: a, password: hunter2, scheme: sasl, former-password: hunter2}",
            (
                "zookeeper-auth.former-password: is for the scheme digest: in ZooKeeper an account of the scheme sasl "
                "has one password; remove it"
            ),
        ),
    ],
)
def test_an_account_that_cannot_be_is_refused(account, sentence):
    (problem,) = complaints(valid_document(), f"zookeeper-auth: {account}")
    assert problem == f"secure.conf:1: {sentence}"
    assert "hunter2" not in problem


def test_another_scheme_is_refused_without_the_password():
    (problem,) = complaints(valid_document(), "zookeeper-auth: {username: a, password: hunter2, scheme: hunter3}")
    assert "expected one of digest or sasl" in problem
    assert "hunter" not in problem


@pytest.mark.parametrize("secure", [False, True])
def test_an_encrypted_file_is_told(secure):
    text = "$ANSIBLE_VAULT;1.1;AES256\n3132\n"
    (problem,) = complaints(valid_document(), text) if secure else complaints(text)
    assert "is encrypted with ansible-vault: decrypt it" in problem


def test_an_account_in_nodepool_yaml_is_refused():
    (problem,) = complaints({**valid_document(), "zookeeper-auth": {"username": "a", "password": "hunter2"}})
    assert problem.endswith(
        ": zookeeper-auth: has a password, which Nodepool does not expect here: move it to secure.conf"
    )
