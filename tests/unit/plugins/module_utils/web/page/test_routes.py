# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.history import MOST_NAMES, POINTS, Change
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page import rendering
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.curves import MOST_CURVES
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import MOST, overview
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.rendering import BRIEF, static
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.routes import TYPES, VALID
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.troubles import MANUAL
from tests.support import busy_tree, populated_tree
from tests.support.populated_tree import (
    BROKEN,
    BUILDING,
    DONE,
    EMPTY,
    FAILED,
    HELD,
    NOT_JSON,
    ODD,
    WAITING,
)
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase

PAGES = [
    "/",
    "/nodes",
    "/requests",
    "/images",
    "/usage",
    f"/nodes/{BUILDING}",
    f"/nodes/{HELD}",
    f"/requests/{WAITING}",
]
VOID = {"meta", "link", "input", "br", "hr", "img"}
EVIL = "<script>alert(1)</script>\"' onload=x \u202e\ud800"


class Outline(HTMLParser):
    """The structure of a page: tags that do not match, ids, headings, texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that is closed at once, as in SVG."""
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        """Match a tag."""
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.fixture
def case() -> WebCase:
    return WebCase()


@pytest.fixture(scope="module")
def large() -> WebCase:
    return WebCase(
        busy_tree.documents(NOW, 6000, 1000), busy_tree.locks(6000), config=parse_config(busy_tree.config(6000))
    )


def text_of(case, path, status=200):
    answer = case.get(path)
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    return answer.get_data(as_text=True)


def manual_links(page: Outline) -> set[str]:
    """The links to the manual, the only ones that leave the service: they tell the other site nothing."""
    links = [attrs for tag, attrs in page.tags if tag == "a" and (attrs.get("href") or "").startswith(f"{MANUAL}#")]
    assert all(attrs["rel"] == "noopener noreferrer" and "target" not in attrs for attrs in links)
    return {attrs["href"] or "" for attrs in links}


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_whole_without_javascript(case, path):
    text = text_of(case, path)
    page = Outline(text)
    assert page.wrong == [] and page.open == [] and len(set(page.ids)) == len(page.ids)
    tags = [tag for tag, _attrs in page.tags]
    assert tags.count("h1") == 1 and {"main", "nav", "header", "footer"} <= set(tags)
    assert all(attrs.get("scope") for tag, attrs in page.tags if tag == "th")
    assert all(attrs.get("aria-label") for tag, attrs in page.tags if attrs.get("role") == "img")


@pytest.mark.parametrize("path", PAGES)
def test_no_page_needs_what_the_policy_forbids(case, path):
    page = Outline(text_of(case, path))
    assert not [attrs for _tag, attrs in page.tags if "style" in attrs or any(name[:2] == "on" for name in attrs)]
    manual = manual_links(page)
    addresses = [attrs[name] for _tag, attrs in page.tags for name in ("src", "href", "action") if name in attrs]
    assert addresses and all(
        address.startswith(("./", "../", "#", "?")) for address in addresses if address not in manual
    )
    (script,) = [attrs.get("src") or "" for tag, attrs in page.tags if tag == "script"]
    assert script.lstrip("./").startswith("static/page.js")


def test_each_trouble_of_the_overview_has_a_link_to_the_manual(case):
    page = Outline(text_of(case, "/"))
    signs = [attrs for tag, attrs in page.tags if tag == "span" and attrs.get("class") == "sign"]
    links = [attrs for tag, attrs in page.tags if tag == "a" and (attrs.get("href") or "").startswith(MANUAL)]
    assert len(links) == len(signs) > 3
    assert f"{MANUAL}#freezes-breakers-health" in manual_links(page)


@pytest.mark.parametrize("path", PAGES)
def test_the_fragment_is_the_part_of_the_page_that_changes(case, path):
    fragment = text_of(case, f"{path}?fragment=1").strip()
    assert len(fragment) > 300 and "<html" not in fragment and fragment in text_of(case, path)


def test_the_overview_shows_what_an_operator_looks_for(case):
    text = text_of(case, "/")
    for told in (
        "Needs attention",
        "provider west: 503",
        "Quota exceeded",
        "2 instances needed, 1 left in west/main",
        "fault: No valid host was found",
        "409 Conflict",
        'aria-label="instances: 3 used, 3 by others, of 10 "',
        f'href="./requests/{WAITING}"',
        'href="./nodes?state=ready"',
        "served by launcher1",
    ):
        assert told in text


def test_a_node_tells_its_life_and_a_request_what_it_waits_for(case):
    told = text_of(case, f"/nodes/{BUILDING}")
    assert "the cloud was asked for a server" in told and "No valid host was found" in told
    told = text_of(case, f"/requests/{WAITING}")
    assert "place 1 in the queue" in told and "nodes are released" in told
    assert "no launcher serves east/main" in told


def test_a_request_that_has_ended_waits_for_nothing():
    reason = {"code": "launch-failed", "where": "west/main", "text": "no host", "owner": "capacity"}
    wait = {f"/nodepool/stackci/waits/{FAILED}": {"code": "failed", "text": "no host", "reasons": [reason]}}
    case = WebCase({**populated_tree.documents(NOW), **wait})
    for ended, responsible in ((FAILED, True), (DONE, False)):
        told = text_of(case, f"/requests/{ended}")
        assert ("<dt>Responsible</dt><dd>capacity</dd>" in told) is responsible
        assert not any(words in told for words in ("What it waits for", "Expected wait", "nothing to wait for"))


@pytest.mark.parametrize("node_id", [ODD, NOT_JSON, EMPTY])
def test_a_node_whose_record_cannot_be_used_has_a_page(case, node_id):
    text_of(case, f"/nodes/{node_id}")
    text_of(case, f"/requests/{BROKEN}")


@pytest.mark.parametrize("path", [*PAGES, "/nodes/0000009999", "/?q=west", "/requests/100-0000009999"])
@pytest.mark.parametrize("prefix", ["/", "/nodepool/", "/a/b/"])
def test_all_links_stay_below_the_path_of_a_proxy(path, prefix):
    """A browser resolves the links at the address that it sees; each of them leads to a page of the service."""
    case = WebCase()
    outline = Outline(case.get(path).text)
    assert outline.tags
    links = [found[name] or "" for _tag, found in outline.tags for name in ("href", "src", "action") if name in found]
    manual = manual_links(outline)
    for link in {urljoin(f"http://proxy{prefix}{path[1:]}", link) for link in links if link not in manual}:
        parts = urlsplit(link)
        assert parts.path.startswith(prefix), link
        there = case.get("/" + parts.path.removeprefix(prefix) + (f"?{parts.query}" if parts.query else ""))
        assert there.status_code == (404 if "9999" in parts.path else 200), link


@pytest.mark.parametrize("path", ["/nodes/0000009999", "/requests/100-0000009999", "/nodes/%3Cb%3E"])
def test_what_is_not_there_is_said_as_a_page(case, path):
    text = text_of(case, path, 404)
    assert "There is no such" in text and "<b>" not in text


def evil(value):
    if isinstance(value, str):
        return EVIL + value
    if isinstance(value, list):
        return [evil(item) for item in value]
    return {key: evil(item) for key, item in value.items()} if isinstance(value, dict) else value


KEPT = ("state", "provider", "pool", "name", "provider_name", "id", "allocated_to", "phase", "code", "where", "formats")


def hostile() -> dict[str, object]:
    """A tree in which every text is hostile, but for those that tie records together."""
    found = {}
    for path, document in populated_tree.documents(NOW).items():
        if isinstance(document, dict):
            document = {key: value if key in KEPT else evil(value) for key, value in document.items()}
        found[path] = document
    held = found[f"/nodepool/nodes/{HELD}"]
    found[f"/nodepool/nodes/{HELD}"] = {**held, "comment": EVIL + "x" * 2**20, "hold_job": EVIL * 2**14}
    found["/nodepool/nodes/<img src=x onerror=alert(1)>"] = {"state": EVIL, "type": [EVIL] * 500, "provider": EVIL}
    found["/nodepool/requests/100-<script>"] = {"state": "requested", "node_types": [EVIL], "requestor": EVIL}
    return found


@pytest.mark.parametrize("path", [*PAGES, "/nodes/<img src=x onerror=alert(1)>", "/requests/100-<script>"])
def test_whatever_a_cloud_or_a_requestor_has_written_is_text(path):
    text = text_of(WebCase(hostile(), populated_tree.locks()), path)
    page = Outline(text)
    assert "<script>" not in text and "<img" not in text and "\u202e" not in text
    assert [tag for tag, _attrs in page.tags].count("script") == 1
    assert not [attrs for _tag, attrs in page.tags if "onload" in attrs or "onerror" in attrs]
    assert len(text) < 100_000


@pytest.mark.parametrize(
    "query", ["q=<script>alert(1)</script>", 'state="><script>', "page=<script>", "q=%00%ff", f"q={'x' * 1500}"]
)
@pytest.mark.parametrize("path", ["/", "/nodes", "/requests", "/images", "/usage"])
def test_whatever_a_visitor_asks_for_is_text(case, path, query):
    text = text_of(case, f"{path}?{query}")
    assert "<script>" not in text and Outline(text).wrong == []


def test_the_first_view_of_a_large_site_is_bounded_and_light(large):
    first = text_of(large, "/")
    assert "6,000" in first and 'href="./requests?state=requested"' in first
    whole = len(first.encode()) + sum(len(static(name)) for name in TYPES)
    assert whole <= 150_000
    for path in ("/nodes", "/requests", "/nodes?q=debian", "/requests?reason=frozen"):
        assert len(text_of(large, path)) < 150_000


def test_what_is_told_of_a_trouble_is_not_cut(large):
    first = unescape(text_of(large, "/"))
    texts = [
        row["text"] for row in overview(large.picture.snapshot().config, large.picture.snapshot().reading, NOW).troubles
    ][:MOST]
    assert any("wait for this, among them" in text and len(text) > BRIEF for text in texts)
    assert [text for text in texts if text not in first] == []


def test_six_full_hours_of_a_large_site_are_light():
    found = WebCase(busy_tree.documents(NOW), busy_tree.locks(), config=parse_config(busy_tree.config()))
    names = [f"cloud-number-{number:03d}" for number in range(MOST_NAMES)]
    for minute in range(POINTS):
        values = {name: float(minute * place % 97) for place, name in enumerate(names)}
        groups = ("nodes", "failures", "calls", "errors", "images")
        waits = {"waits": {"45": minute % 7, "600": minute % 3}}
        found.picture.history.add(NOW - 60 * (POINTS - minute), {**dict.fromkeys(groups, values), **waits})
        found.picture.history.note(Change(NOW - minute, "resource_frozen", "<b>cores</b> is frozen " + "x" * 5000))
    first = text_of(found, "/")
    assert first.count("<polyline") > 5 * MOST_CURVES and "<b>cores" not in first and Outline(first).wrong == []
    assert len(first.encode()) + sum(len(static(name)) for name in TYPES) <= 200_000


def test_nothing_is_sent_again_to_a_visitor_who_has_it(case):
    for path in [*PAGES, "/?fragment=1", "/nodes?fragment=1", "/?q=west"]:
        tag = case.get(path).headers["ETag"]
        again = case.get(path, If_None_Match=tag)
        assert (again.status_code, again.get_data()) == (304, b""), path


def test_a_change_in_the_tree_is_sent(case):
    before = case.get("/?fragment=1")
    record = json.dumps({**populated_tree.documents(NOW)[f"/nodepool/requests/{WAITING}"], "node_types": ["fresh"]})
    case.now += 2
    case.session.put("/nodepool/requests/100-0000000099", record.encode())
    after = case.get("/?fragment=1", If_None_Match=before.headers["ETag"])
    assert after.status_code == 200 and "100-0000000099" in after.get_data(as_text=True)


def test_ages_are_counted_anew_after_a_while(case):
    tag = case.get("/").headers["ETag"]
    case.now += VALID + 1
    assert case.get("/", If_None_Match=tag).status_code == 200


def test_one_visitor_more_costs_no_row_more(case):
    text_of(case, "/")
    case.session.tree = None
    text_of(case, "/")


def test_while_zookeeper_is_away_the_last_known_state_is_shown_with_its_age(case):
    text_of(case, "/")
    tag = case.get("/").headers["ETag"]
    case.lose()
    case.now += 90
    answer = case.get("/", If_None_Match=tag)
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200 and WAITING in text
    assert re.search(r"ZooKeeper does not answer.*last known state.*1 min 30 s", text, re.DOTALL)
    for path in PAGES:
        assert "ZooKeeper does not answer" in text_of(case, path)


def test_before_the_tree_was_read_the_page_says_so_and_tries_again():
    case = WebCase()
    case.picture._was_connected, case.picture._heard = False, None
    case.session.state = "LOST"
    for path in PAGES:
        text = text_of(case, path, 503)
        assert "has not been read yet" in text and Outline(text).wrong == []


def test_static_files_are_kept_for_ever_under_an_address_with_their_version(case):
    found = re.findall(r'/static/[^"]+', text_of(case, "/"))
    assert {path.split("?")[0].removeprefix("/static/") for path in found} == set(TYPES)
    for path in found:
        answer = case.get(path)
        assert answer.status_code == 200 and "immutable" in answer.headers["Cache-Control"]
        assert answer.mimetype == TYPES[path.split("?")[0].removeprefix("/static/")]


@pytest.mark.parametrize("name", ["nothing.css", "..%2froutes.py", "%2e%2e/routes.py", "page.css/", ""])
def test_no_other_file_is_served(case, name):
    assert case.get(f"/static/{name}").status_code == 404


def test_where_ansible_has_packed_the_module_the_page_names_the_remedy_and_the_rest_works(case, monkeypatch, tmp_path):
    monkeypatch.setattr(rendering, "FOLDER", tmp_path)
    for path in ("/", "/nodes", f"/requests/{WAITING}"):
        answer = case.get(path)
        assert (answer.status_code, answer.mimetype) == (503, "text/plain")
        assert "connection local" in answer.text
        assert "role webapp" in answer.text
    assert case.get("/static/page.css").status_code == 404
    assert case.get("/node-list").status_code == 200
    assert case.get("/metrics").status_code == 200


def test_a_packed_page_takes_its_files_from_the_collection_that_the_action_plugin_names(case, monkeypatch, tmp_path):
    plugins = Path(rendering.__file__).parents[3]
    monkeypatch.setattr(rendering, "FOLDER", tmp_path)
    monkeypatch.setenv("NODEPOOL_SOURCE", str(plugins))
    assert case.get("/").status_code == 200
    assert case.get("/static/page.css").status_code == 200
    monkeypatch.setenv("NODEPOOL_SOURCE", "plugins")
    assert case.get("/").status_code == 503, "a relative path is no place that an action plugin names"
