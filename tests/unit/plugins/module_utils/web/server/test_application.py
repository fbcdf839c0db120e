# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every answer has, and what is refused."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import LOST
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.web.libraries import Response
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page import routes as page_routes
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import overview
from ansible_collections.stackci.nodepool.plugins.module_utils.web.routing import Route
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import (
    LONGEST_QUERY,
    ROUTES,
    STATE_AGE,
    Application,
    Visitors,
    prefix_of,
)
from tests.support.web_case import StillSession, WebCase


def broken(_snapshot, _request):
    raise RuntimeError("a secret")


PAGES = (
    Route("/page", lambda _snapshot, _request: Response("text", mimetype="text/plain")),
    Route("/page/<name>", lambda _snapshot, _request, name: Response(name, mimetype="text/plain")),
    Route("/process", lambda _snapshot, _request: Response("alive"), needs_tree=False),
    Route("/broken", broken),
)


@pytest.fixture
def case() -> WebCase:
    return WebCase({}, routes=PAGES)


def test_no_two_pages_have_the_same_path():
    found = [route.path for route in ROUTES]
    assert sorted(set(found)) == sorted(found)


def test_a_page_is_served(case):
    answer = case.get("/page")
    assert (answer.status_code, answer.text) == (200, "text")


def test_a_page_is_served_also_to_who_asks_for_a_websocket(case):
    assert case.get("/page", Connection="Upgrade", Upgrade="websocket").status_code == 200


def test_a_part_of_the_path_reaches_the_handler_as_it_was_meant(case):
    assert case.get("/page/%3Cscript%3E").text == "<script>"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/page", "/nowhere"])
def test_no_method_but_get_and_head_is_known(case, method, path):
    answer = case.client.open(path, method=method)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_has_the_headers_of_get_and_no_body(case):
    answer = case.client.head("/page")
    assert (answer.status_code, answer.data, answer.content_length) == (200, b"", 4)
    assert answer.headers["ETag"] == case.get("/page").headers["ETag"]


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/page/", "//page", "/../../etc/passwd", "/page/../../etc/passwd", "/%2e%2e/etc/passwd", "/page/a/b"],
)
def test_another_path_is_404(case, path):
    answer = case.get(path)
    assert answer.status_code == 404
    assert answer.mimetype == "text/plain"


@pytest.mark.parametrize("path", ["/ready", "/node-list", "/label-list", "/"])
def test_pages_of_other_sites_may_read_the_answers_only_when_the_operator_says_so(path):
    assert "Access-Control-Allow-Origin" not in WebCase().get(path).headers
    told = WebCase(visitors=Visitors(cross_origin=True)).get(path).headers.get("Access-Control-Allow-Origin")
    assert told == (None if path == "/" else "*")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("ci.example.org", 200),
        ("CI.example.org.:8005", 200),
        ("[::1]:8005", 200),
        ("[::1]", 200),
        ("evil.example.org", 421),
        ("ci.example.org.evil.net", 421),
        ("", 421),
    ],
)
def test_a_service_answers_to_its_names_only(host, status):
    case = WebCase({}, routes=PAGES, visitors=Visitors(hosts=("ci.example.org", "[::1]")))
    assert case.get("/page", Host=host).status_code == status
    assert WebCase({}, routes=PAGES).get("/page", Host=host).status_code == 200


def test_a_long_query_is_refused(case):
    assert case.get(f"/page?fields={'x' * LONGEST_QUERY}").status_code == 414


def test_what_has_not_changed_is_304(case):
    etag = case.get("/page").headers["ETag"]
    answer = case.get("/page", If_None_Match=etag)
    assert (answer.status_code, answer.data) == (304, b"")
    assert case.get("/page", If_None_Match='"other"').status_code == 200


@pytest.mark.parametrize("path", ["/page", "/nowhere", "/broken"])
def test_every_answer_has_the_headers_that_bind_a_browser(case, path):
    headers = case.get(path).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"


def test_a_defect_is_500_and_tells_the_visitor_nothing(case, caplog):
    answer = case.get("/broken")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "a secret" in caplog.text


def test_without_zookeeper_every_answer_says_how_old_the_state_is(case):
    assert STATE_AGE not in case.get("/page").headers
    case.lose()
    case.now += 42
    answer = case.get("/page")
    assert (answer.status_code, answer.headers[STATE_AGE]) == (200, "42")


def test_before_the_tree_was_read_only_the_process_answers():
    case = WebCase({}, routes=PAGES)
    case.picture._session = StillSession(case.session.tree)
    case.picture._session.state = LOST
    assert case.get("/process").status_code == 200
    answer = case.get("/page")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_the_first_page_is_made_before_somebody_asks(monkeypatch):
    made: list[float] = []

    def counted(config, reading, now, problems, budgets):
        made.append(now)
        return overview(config, reading, now, problems, budgets)

    monkeypatch.setattr(page_routes, "overview", counted)
    case = WebCase()
    Application(case.picture).prepare()
    assert len(made) == 1
    assert case.get("/").status_code == 200
    assert len(made) == 1


def test_a_page_that_cannot_be_made_beforehand_is_no_reason_to_end(monkeypatch, caplog):
    monkeypatch.setattr(page_routes, "overview", broken)
    Application(WebCase().picture).prepare()
    assert "the page could not be created" in caplog.text


@pytest.mark.parametrize("coding", ["", "-gzip", "-br"])
def test_an_answer_that_a_proxy_has_compressed_is_known_again(coding):
    case = WebCase()
    tag = case.get("/node-list").headers["ETag"]
    assert case.get("/node-list", If_None_Match=f'{tag[:-1]}{coding}"').status_code == 304
    assert case.get("/node-list", If_None_Match=f'"other{coding}"').status_code == 200


@pytest.mark.parametrize("path", ["/nodes", "/prefix/pool/nodes"])
def test_a_proxy_may_leave_its_path_in_the_requests(path):
    case = WebCase(visitors=Visitors(prefix="/prefix/pool"))
    assert case.get(path).status_code == 200
    assert 'href="./requests"' in case.get(path).text


@pytest.mark.parametrize("path", ["/prefix/poolnodes", "/prefix/pool/prefix/pool/nodes", "/prefix/nodes"])
def test_other_paths_are_none_of_the_service(path):
    assert WebCase(visitors=Visitors(prefix="/prefix/pool")).get(path).status_code == 404


def test_the_path_of_a_proxy_without_its_slash_leads_below_it():
    answer = WebCase(visitors=Visitors(prefix="/prefix/pool")).get("/prefix/pool", Host="evil.example.org")
    assert (answer.status_code, answer.headers["Location"]) == (308, "./pool/")


@pytest.mark.parametrize(("path", "prefix"), [("", ""), ("/", ""), ("/a/b-c.d/", "/a/b-c.d"), ("/a", "/a")])
def test_paths_of_proxies(path, prefix):
    assert prefix_of(path) == prefix


@pytest.mark.parametrize("path", ["nodepool", "//evil.example.org", "/a b", "/a?b", "/a//b", "/\r\nX: y", "https://x/"])
def test_what_is_no_path_of_a_proxy(path):
    with pytest.raises(ConfigError, match="path_prefix"):
        prefix_of(path)
