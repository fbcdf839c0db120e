# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bytes of a client become: a request, or a refusal that waitress answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments

from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import LONGEST_BODY, LONGEST_HEADER
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.parsing import Channel, Parser

LENGTH = b"Content-Length: "


def parsed(data: bytes) -> Parser:
    parser = Parser(Adjustments(max_request_header_size=LONGEST_HEADER, max_request_body_size=LONGEST_BODY))
    while data and not parser.completed:
        consumed = parser.received(data)
        assert 0 < consumed <= len(data)
        data = data[consumed:]
    return parser


def test_the_connections_of_the_server_use_this_parser():
    assert Channel.parser_class is Parser


def test_a_request_is_read():
    parser = parsed(b"GET /node-list?x=1 HTTP/1.1\r\nHost: here\r\n\r\n")
    assert (parser.completed, parser.error, parser.path, parser.query) == (True, None, "/node-list", "x=1")


@pytest.mark.parametrize(
    ("code", "line", "headers"),
    [
        pytest.param(400, b"GET http://[::1/ HTTP/1.1", b"", id="address without its end"),
        pytest.param(400, b"GET http://[zz]/ HTTP/1.1", b"", id="no address"),
        pytest.param(400, b"GET / HTTP/1.1", LENGTH + b"9" * 5000 + b"\r\n", id="a length of 5000 digits"),
        pytest.param(400, b"GET / HTTP/1.1", LENGTH + b"1\r\n" + LENGTH + b"1\r\n", id="two lengths"),
        pytest.param(400, b"GET / HTTP/1.1", LENGTH + b"+1\r\n", id="a length with a sign"),
        pytest.param(413, b"GET / HTTP/1.1", LENGTH + b"1\r\n", id="a body"),
        pytest.param(501, b"GET / HTTP/1.1", b"Transfer-Encoding: gzip\r\n", id="another coding"),
        pytest.param(501, b"GET / HTTP/1.1", b"Transfer-Encoding: chunked, x\r\n", id="chunked is not the last"),
        pytest.param(400, b"GET / HTTP/1.1", b"Host: a\nHost: b\r\n", id="a line ends without a carriage return"),
        pytest.param(400, b"GET / HTTP/1.1", b"Host : a\r\n", id="a space before the colon"),
        pytest.param(431, b"GET / HTTP/1.1", b"X: " + b"x" * LONGEST_HEADER + b"\r\n", id="a large header"),
    ],
)
def test_a_bad_request_gets_an_answer(code, line, headers):
    parser = parsed(line + b"\r\n" + headers + b"\r\n")
    assert parser.completed
    assert parser.error is not None
    assert parser.error.code == code


@given(st.binary(max_size=200), st.lists(st.binary(max_size=50), max_size=4))
def test_no_bytes_of_a_client_raise(line, headers):
    parsed(b"\r\n".join([line, *headers, b"", b""]))
