# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import ssl

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import connect_errors
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
    ZooKeeperTls,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError

TLS = ZooKeeperTls("/c", "/k", "/a")


def settings(*servers, tls=None):
    return ZooKeeperSettings(tuple(ZooKeeperServer(*server) for server in servers), tls=tls)


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ([("a", 1)], "a:1"),
        ([("a", 1, "/x"), ("b", 2, "x/")], "a:1,b:2/x"),
        ([("::1", 1, "/x/y"), ("[fe80::2]", 2, "/x/y")], "[::1]:1,[fe80::2]:2/x/y"),
        ([("a", 1, "/")], "a:1"),
    ],
)
def test_connection_strings(servers, expected):
    assert connect_errors.connection_string(settings(*servers)) == expected


def test_no_server_or_several_trees():
    with pytest.raises(StoreError, match="zookeeper-servers"):
        connect_errors.connection_string(settings())
    with pytest.raises(StoreError, match="a:1, b:1 have different chroots"):
        connect_errors.connection_string(settings(("a", 1, "/x"), ("b", 1)))


def caused(cause):
    try:
        try:
            raise cause
        except Exception:
            raise RuntimeError("socket connection error")  # noqa: B904 (as kazoo does it)
    except RuntimeError as problem:
        return problem


def not_verified(code, text):
    problem = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    problem.verify_code, problem.verify_message = code, text
    return caused(problem)


@pytest.mark.parametrize(
    ("problem", "tls", "told"),
    [
        (not_verified(10, "certificate has expired"), TLS, "renew it, or the CA's, and check the clock of this host"),
        (not_verified(9, "certificate is not yet valid"), TLS, "and check the clock of this host"),
        (not_verified(20, "unable to get local issuer certificate"), TLS, "set ca of zookeeper-tls to the CA that"),
        (caused(ssl.SSLError(1, "[SSL: SSLV3_ALERT_CERTIFICATE_UNKNOWN] alert")), TLS, "and must not have expired"),
        (caused(ConnectionRefusedError(111, "refused")), None, "ZooKeeper is running there"),
        (caused(TimeoutError("timed out")), None, "it did not answer in time: check that the host is reachable"),
        (caused(TimeoutError("timed out")), TLS, "secureClientPort"),
        (caused(OSError(113, "No route to host")), None, "No route to host: check host, port"),
        (RuntimeError("socket connection broken"), None, "member of an ensemble with a quorum"),
        (caused(ConnectionResetError(104, "reset")), TLS, "check cert and key of zookeeper-tls"),
        (caused(ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert")), TLS, "client certificate"),
        (caused(ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed (EOF)")), TLS, "secureClientPort"),
        (caused(ssl.SSLEOFError(8, "EOF occurred in violation of protocol")), TLS, "secureClientPort"),
        (caused(ConnectionResetError(104, "reset")), TLS, "secureClientPort"),
        (caused(ssl.SSLError(1, "something new")), TLS, "check cert, key and ca"),
    ],
)
def test_reasons_and_remedies(problem, tls, told):
    sentence = connect_errors.explain(settings(("a", 1), ("b", 2), tls=tls), {"a:1": problem, "b:2": problem}, 10.0)
    assert sentence.startswith("no connection to ZooKeeper within 10 s: a:1, b:2: ")
    assert told in sentence


@pytest.mark.parametrize("tls", [None, TLS])
@pytest.mark.parametrize("failures", [{}, {"a:1": caused(TimeoutError("timed out"))}])
def test_a_server_that_hangs_is_no_matter_of_dns(tls, failures):
    sentence = connect_errors.explain(settings(("a", 1), tls=tls), failures, 10.0, {"a:1": True})
    assert "a:1: it accepts the connection, but ZooKeeper does not answer" in sentence
    assert "DNS" not in sentence and ("not one for TLS" in sentence) == (tls is None)


def test_a_host_that_is_still_being_tried():
    sentence = connect_errors.explain(settings(("a", 1), ("b", 2)), {}, 10.0, {"a:1": False})
    assert "a:1: it did not answer in time: check that the host is reachable" in sentence
    assert "b:2: was not tried" in sentence


def test_a_failure_tells_more_than_the_attempt():
    refused = caused(ConnectionRefusedError(111, "refused"))
    assert "it refused the connection" in connect_errors.explain(
        settings(("a", 1)), {"a:1": refused}, 10.0, {"a:1": True}
    )


def test_a_name_that_was_never_tried():
    assert "b:2: was not tried" in connect_errors.explain(settings(("b", 2)), {}, 1.0)


@pytest.mark.parametrize("name", ["cert", "key", "ca"])
def test_a_file_that_this_user_may_not_read_is_named(tmp_path, monkeypatch, name):
    """Whoever runs the tests may read everything, so the system's answer is given here."""
    files = {key: str(tmp_path / f"{key}.pem") for key in ("cert", "key", "ca")}
    for path in files.values():
        (tmp_path / path).touch()
    monkeypatch.setattr(os, "access", lambda path, _mode: path != files[name])
    with pytest.raises(StoreError, match=f"{name} is {files[name]}, which this user cannot read"):
        connect_errors.check_tls(ZooKeeperTls(**files))
