# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page for people in a real browser, with a real ZooKeeper behind it."""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.history import Change
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.recorder import Recorder
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Picture
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Application, Visitors
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from tests.support import busy_tree
from tests.support.browser import OVERLAPS, barriers, browser, patience, program, shoot, too_wide, visit
from tests.support.busy_tree import node_id, request_id
from tests.support.fixtures_zookeeper import bare_client, end, eventually
from tests.support.zookeeper_server import HOST, ZooKeeperServer

PAGES = {
    "overview": "",
    "nodes": "nodes",
    "requests": "requests",
    "images": "images",
    "usage": "usage",
    "node": f"nodes/{node_id(5)}",
    "request": f"requests/{request_id(5)}",
}
FRESH = "300-0000099999"
PREFIX = "/ci/nodepool"
"""Path of a proxy that leaves it in its requests."""


@dataclass
class Site:
    """A web service over a busy tree."""

    chroot: str
    client: Any
    picture: Picture
    listening: Listening

    @property
    def address(self) -> str:
        """Its first page."""
        return self.listening.address

    def write(self, path: str, document: Any) -> None:
        """Write a document."""
        data = json.dumps(document).encode()
        if self.client.exists(path):
            self.client.set(path, data)
        else:
            self.client.create(path, data, makepath=True)

    def request(self, ident: str = FRESH, **more: Any) -> None:
        """Write a request that waits."""
        known = {"state": "requested", "node_types": ["debian-12"], "requestor": "zuul", "state_time": time.time()}
        self.write(f"/nodepool/requests/{ident}", {**known, **more})


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def site_of(server: ZooKeeperServer, stack: ExitStack) -> Site:
    chroot = f"/test-{uuid.uuid4().hex}"
    client = bare_client(server, chroot)
    stack.callback(end, client)
    for path, document in busy_tree.documents(time.time()).items():
        client.create(path, json.dumps(document).encode(), makepath=True)
    for path in busy_tree.locks():
        client.create(path, b"", makepath=True)
    picture = Picture(
        parse_config(
            busy_tree.config().replace("host: 127.0.0.1", f"host: {HOST}, port: {server.port}, chroot: {chroot}")
        )
    )
    listening = stack.enter_context(Listening(Application(picture, visitors=Visitors(prefix=PREFIX)), HOST, 0))
    picture.open()
    stack.callback(picture.close)
    eventually(lambda: picture.snapshot().contact.age is not None)
    return Site(chroot, client, picture, listening)


@pytest.fixture(scope="module")
def busy(zookeeper: ZooKeeperServer) -> Iterator[Site]:
    """A site that no test changes but by a request of its own."""
    program()
    with ExitStack() as stack:
        yield site_of(zookeeper, stack)


def row(page, ident):
    return page.locator(f'#content tr[data-key="{ident}"]')


def test_the_page_works_and_asks_nothing_from_elsewhere(busy, chromium):
    with visit(chromium, "about:blank", width=1400) as visited:
        asked: list[str] = []
        visited.page.on("request", lambda request: asked.append(request.url))
        visited.page.goto(busy.address)
        expect(visited.page.locator("#live-text")).to_contain_text("live")
        expect(visited.page.locator("#h-attention")).to_contain_text("Needs attention")
        expect(visited.page.locator("#said")).to_have_text("11 things need attention")
        assert visited.page.title() == "Nodepool: overview"
        assert asked and all(url.startswith(busy.address) for url in asked)
        shoot(visited.page, "overview-light-desktop")


def test_a_remedys_command_is_copied_or_selected(busy, chromium):
    with visit(chromium, busy.address, width=1400) as visited:
        expect(visited.page.locator("#said")).to_have_text("11 things need attention")
        first = visited.page.locator("button[data-copy]").first
        first.click()
        expect(visited.page.locator("#said")).to_have_text(re.compile("copied|selected: copy it with the keyboard"))
        assert first.get_attribute("data-copy") == first.locator("xpath=preceding-sibling::code").inner_text()


def test_the_keyboard_reaches_the_manual_of_a_trouble(busy, chromium):
    with visit(chromium, busy.address, width=1400) as visited:
        expect(visited.page.locator("#said")).to_have_text("11 things need attention")
        visited.page.locator("button[data-copy]").first.focus()
        visited.page.keyboard.press("Tab")
        link = visited.page.locator(".troubles li").first.locator(".remedy a")
        expect(link).to_be_focused()
        expect(link).to_have_attribute("href", re.compile(r"^https://github\.com/.+/docs/operating\.md#[a-z-]+$"))
        expect(visited.page.locator(".troubles .remedy a")).to_have_count(11)


def test_many_clouds_have_a_line_each_and_stay_open(zookeeper, chromium):
    program()
    with ExitStack() as stack:
        site = site_of(zookeeper, stack)
        for number in range(37):
            reading = {"at": time.time(), "limits": {"instances": 50}, "others": {"instances": number}}
            calls = {str(int(time.time() // 300)): [300, 4]}
            document = {"health": {"state": "ok"}, "reading": reading, "calls": calls}
            site.write(f"/nodepool/stackci/providers/cloud-{number:02d}", document)
        with visit(chromium, site.address, width=390) as visited:
            clouds = visited.page.locator("details.cloud")
            expect(clouds).to_have_count(40)
            assert too_wide(visited.page) == []
            clouds.nth(3).locator("summary").click()
            expect(clouds.nth(3)).to_have_attribute("open", "")
            trouble = {"state": "trouble", "text": "answers 599"}
            site.write("/nodepool/stackci/providers/cloud-fra", {"health": trouble, "reading": reading})
            expect(visited.page.locator("#content")).to_contain_text("answers 599")
            expect(visited.page.locator("details.cloud[open]")).to_have_count(1)
            shoot(visited.page, "clouds-phone")
        with visit(chromium, site.address, width=1400) as visited:
            expect(visited.page.locator("details.cloud")).to_have_count(40)
            squares = visited.page.locator(".heat .square")
            expect(squares).to_have_count(40)
            expect(visited.page.locator(".heat .square.bad")).to_have_count(2)
            assert barriers(visited.page) == []
            assert too_wide(visited.page) == []
            for width in (1151, 1280, 1400, 1700):
                visited.page.set_viewport_size({"width": width, "height": 900})
                assert (width, visited.page.evaluate(OVERLAPS)) == (width, [])
            well = visited.page.locator('details.cloud[data-key="cloud-07"] summary')
            expect(well).to_contain_text("1 % fail")
            expect(well).to_contain_text("none waits")
            expect(visited.page.locator('details.cloud[data-key="cloud-nyc"] summary')).to_contain_text("waits ")
            shoot(visited.page, "clouds-desktop")
            visited.page.locator(".heat li[data-key=cloud-fra] a").focus()
            visited.page.keyboard.press("Enter")
            expect(visited.page.locator(".heat")).to_have_count(0)
            expect(visited.page.locator("#content")).to_contain_text("answers 599")


def record(site: Site, hours: float = 5.0) -> None:
    """Fill the history of a site as its service would have done."""
    now, history = time.time(), site.picture.history
    for minute in range(round(hours * 60), 0, -1):
        wave = 25 + 24 * math.sin(minute / 35)
        calls = dict.fromkeys(busy_tree.PROVIDERS, 20.0 + wave)
        history.add(
            now - 60.0 * minute,
            {
                "nodes": {"in-use": 40 + wave / 5, "ready": 6, "building": 5 + 4 * math.cos(minute / 20)},
                "waits": {"45": 4, "90": round(wave) % 5, "600": minute % 60 // 55},
                "failures": {"capacity": minute % 70 // 60, "image": minute % 110 // 105},
                "calls": calls,
                "errors": {busy_tree.ILL: wave / 5},
                "images": dict.fromkeys(busy_tree.IMAGES, 60.0 * (400 - minute)),
            },
        )


def what_changed(site: Site) -> None:
    """Have something happen to a site within its last hours."""
    for minutes, kind, text in (
        (190, "build_live", "build 0a1b2c3d of debian-12 is live at cloud-fra"),
        (95, "configuration_read", "configuration read again: provider cloud-nyc changed (rate)"),
        (40, "launcher_serves", "provider cloud-syd: the launcher on launcher2 serves it"),
        (6, "provider_in_trouble", "provider cloud-syd is in trouble: GET /servers/detail: 503 Service Unavailable"),
    ):
        site.picture.history.note(Change(time.time() - 60 * minutes, kind, text))


def test_the_last_hours_are_curves_with_their_changes_beneath(zookeeper, chromium):
    program()
    evil = "<img src=x onerror='window.pwned = 1'>"
    with ExitStack() as stack:
        site = site_of(zookeeper, stack)
        record(site)
        what_changed(site)
        recorder = Recorder(site.picture)
        # Two looks: what is there before the first one is not new.
        recorder.step(0.0)
        freeze = {
            "resource": "cores",
            "until": time.time() + 60,
            "refusals": [time.time()],
            "text": f"Quota exceeded {evil}",
        }
        site.write(f"/nodepool/stackci/freezes/{busy_tree.pool_id('cloud-fra')}", {"cores": freeze})

        def seen() -> bool:
            reading = site.picture.snapshot().reading
            return reading.one(f"/nodepool/stackci/freezes/{busy_tree.pool_id('cloud-fra')}") is not None

        eventually(seen)
        recorder.step(1000.0)
        for width, dark in ((1400, False), (390, True)):
            with visit(chromium, site.address, width=width, dark=dark) as visited:
                page = visited.page
                past = page.locator("section[data-key=past]")
                expect(past.locator("[data-key=Nodes] svg.curve")).to_have_count(len(site_states(site)))
                expect(past.locator("[data-key=Waits] li[data-key=P95] .figures")).to_contain_text("max")
                expect(past.locator("ol.changes li").first).to_contain_text("cores is frozen after a refused create")
                expect(past.locator("ol.changes")).to_contain_text("<img src=x")
                assert page.evaluate("window.pwned") is None and too_wide(page) == []
                # The keyboard opens the calls of the providers; the one with failures is first.
                past.locator("details summary").first.focus()
                page.keyboard.press("Enter")
                calls = past.locator("details[data-key=providers] li[data-key]").first
                expect(calls).to_contain_text(busy_tree.ILL)
                expect(calls.locator("polyline.errors")).to_have_count(1)
                assert barriers(page) == []
                shoot(page, f"past-{width}")


def test_the_life_of_a_node_and_of_a_request_is_a_picture(busy, chromium):
    number = busy_tree.node_id(9000)
    deleted = {
        "node_id": number,
        "why": "it was used",
        "buried": time.time() - 60,
        "times": {"recorded": time.time() - 900, "created": time.time() - 890, "ready": time.time() - 800},
    }
    place = f"/nodepool/stackci/tombstones/{busy_tree.ILL}/{number}"
    busy.write(place, deleted)
    try:
        eventually(lambda: busy.picture.snapshot().reading.one(place))
        for width, dark in ((1280, False), (390, True)):
            with visit(chromium, f"{busy.address}nodes/{node_id(5)}", width=width, dark=dark) as visited:
                bars = visited.page.locator("figure.life svg rect")
                expect(bars).not_to_have_count(1)
                expect(visited.page.locator("figure.life .spans")).to_contain_text("building")
                assert barriers(visited.page) == [] and too_wide(visited.page) == []
                shoot(visited.page, f"life-of-a-node-{width}")
        with visit(chromium, f"{busy.address}requests/{request_id(5)}") as visited:
            expect(visited.page.locator("figure.life").first).to_contain_text("waiting")
            assert barriers(visited.page) == []
            shoot(visited.page, "life-of-a-request")
        with visit(chromium, "about:blank") as visited:
            visited.page.goto(f"{busy.address}nodes/{number}")
            expect(visited.page.locator("#h-life")).to_have_text("Life of the deleted node")
            expect(visited.page.locator("figure.life .spans")).to_contain_text("ready")
            assert barriers(visited.page) == []
            # The answer is 404, of which the browser complains.
            visited.complaints.clear()
    finally:
        busy.client.delete(place)


def site_states(site: Site) -> set[str]:
    """The states of nodes in the history."""
    return {name for point in site.picture.history.points for name in point.groups["nodes"]}


def test_a_change_in_zookeeper_reaches_the_page_and_nothing_else_is_touched(busy, chromium):
    ident = "300-0000088888"
    with visit(chromium, f"{busy.address}requests?q=zuul") as visited:
        page = visited.page
        page.evaluate("document.querySelector('#content tbody tr').marked = true")
        page.locator("#content tbody a").first.focus()
        focused = page.evaluate("document.activeElement.href")
        busy.request(ident)
        expect(row(page, ident)).to_be_visible()
        assert page.evaluate("document.querySelector('#content tbody tr').marked") is True
        assert page.evaluate("document.activeElement.href") == focused
        busy.client.delete(f"/nodepool/requests/{ident}")
        expect(row(page, ident)).to_have_count(0)


def test_ages_go_on_by_themselves(busy, chromium):
    with visit(chromium, f"{busy.address}nodes/{node_id(5)}") as visited:
        first = visited.page.locator("#content time").first
        before = first.inner_text()
        expect(first).not_to_have_text(before)


def test_the_search_filters_while_typing_and_the_address_can_be_shared(busy, chromium):
    with visit(chromium, busy.address) as visited:
        page = visited.page
        page.get_by_role("searchbox").fill("fedora")
        expect(page.locator("#h-labels .count")).to_have_text("1")
        expect(page.locator("#h-images + table tbody tr, #h-images ~ table tbody tr")).to_have_count(1)
        assert page.url == f"{busy.address}?q=fedora"
        assert page.evaluate("document.activeElement.id") == "q"
        shared = page.url
    with visit(chromium, shared, script=False) as visited:
        assert visited.page.locator("#h-labels .count").inner_text() == "1"
        assert visited.page.locator("#q").input_value() == "fedora"


def test_lists_are_filtered_by_their_form(busy, chromium):
    with visit(chromium, f"{busy.address}nodes") as visited:
        page = visited.page
        page.get_by_label("state").select_option("ready")
        expect(page.locator("#h-list")).to_contain_text("of 60 nodes")
        assert page.url.endswith("nodes?state=ready")
        assert set(page.locator("#content td[data-title=State]").all_inner_texts()) == {"ready"}


def test_the_pages_stay_below_the_path_of_a_proxy(busy, chromium):
    below = f"{busy.address.rstrip('/')}{PREFIX}/"
    with visit(chromium, "about:blank", width=1400) as visited:
        asked: list[str] = []
        visited.page.on("request", lambda request: asked.append(request.url))
        visited.page.goto(below.rstrip("/"))
        expect(visited.page).to_have_url(below)
        expect(visited.page.locator("#live")).to_be_visible()
        for name in ("Nodes", "Requests", "Images", "Overview"):
            visited.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
            expect(visited.page.locator("h1")).to_be_visible()
        visited.page.goto(f"{below}requests/{request_id(5)}")
        visited.page.get_by_role("navigation", name="Path").get_by_role("link").click()
        expect(visited.page).to_have_url(f"{below}requests")
        with visited.page.expect_request(lambda request: "fragment=1" in request.url):
            pass
    assert [url for url in asked if not url.startswith(below) and url != below.rstrip("/")] == []
    assert any(url.startswith(f"{below}static/") for url in asked)


def test_all_is_there_without_javascript(busy, chromium):
    with visit(chromium, busy.address, script=False) as visited:
        page = visited.page
        assert page.locator("#content section").count() >= 8 and not page.locator("#live").is_visible()
        page.locator("#q").fill(node_id(5))
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=node_id(5)).first.click()
        assert page.url == f"{busy.address}nodes/{node_id(5)}"
        assert "No valid host was found" in page.inner_text("#content")
        page.locator(".facts").get_by_role("link").first.click()
        assert "/requests/" in page.url
        shoot(page, "request-without-javascript")


@pytest.mark.parametrize("name", PAGES)
def test_everything_fits_on_a_phone_and_on_a_desktop(name, busy, chromium):
    with visit(chromium, busy.address + PAGES[name], width=400, dark=True) as visited:
        shoot(visited.page, f"{name}-dark-phone")
        for width in (320, 400, 701, 901, 1201, 1400):
            visited.page.set_viewport_size({"width": width, "height": 800})
            assert (width, too_wide(visited.page)) == (width, [])


@pytest.mark.parametrize(("name", "dark"), [*((name, False) for name in PAGES), ("overview", True), ("request", True)])
def test_nothing_keeps_people_out(name, dark, busy, chromium):
    with visit(chromium, busy.address + PAGES[name], dark=dark) as visited:
        expect(visited.page.locator("#live-text")).to_contain_text("live")
        assert barriers(visited.page) == []
        shoot(visited.page, f"{name}-{'dark' if dark else 'light'}-desktop")


def test_the_keyboard_reaches_everything_and_is_never_trapped(busy, chromium):
    with visit(chromium, f"{busy.address}nodes/{node_id(5)}") as visited:
        page = visited.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        wanted = page.evaluate("document.querySelectorAll('#main a, footer a').length")
        reached = []
        for _turn in range(wanted):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
        assert reached == ["solid"] * wanted
        assert page.evaluate("document.activeElement.closest('footer') !== null")


def test_a_page_that_is_not_looked_at_or_paused_asks_for_nothing(busy, chromium):
    ident = "300-0000077777"
    with visit(chromium, f"{busy.address}requests") as visited, visit(chromium, f"{busy.address}requests") as other:
        page = visited.page
        expect(page.locator("#live-text")).to_contain_text("live")
        page.evaluate(
            "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        other.page.get_by_role("button", name="Pause").click()
        expect(other.page.locator("#live-text")).to_contain_text("paused")
        asked: list[str] = []
        for watched in (page, other.page):
            watched.wait_for_load_state("networkidle")
            watched.on("request", lambda request: asked.append(request.url))
        busy.request(ident)
        # Two further pages show it, one after the other: time enough for a page that would ask.
        for _turn in range(2):
            with visit(chromium, f"{busy.address}requests") as third:
                expect(row(third.page, ident)).to_be_visible()
        assert asked == [] and row(page, ident).count() == row(other.page, ident).count() == 0
        page.evaluate(
            "Object.defineProperty(document, 'hidden', {value: false, configurable: true});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        other.page.get_by_role("button", name="Pause").click()
        expect(row(page, ident)).to_be_visible()
        expect(row(other.page, ident)).to_be_visible()
        busy.client.delete(f"/nodepool/requests/{ident}")


def test_what_a_cloud_or_a_requestor_has_written_does_nothing(busy, chromium):
    evil = "<img src=x onerror='window.pwned = 1'><script>window.pwned = 1</script>"
    number = busy_tree.node_id(8000)
    busy.request(FRESH, requestor=evil, node_types=[evil], tenant_name=evil)
    held = {"state": "hold", "type": [evil], "provider": evil, "comment": evil + "x" * 800_000, "state_time": 1.0}
    busy.write(f"/nodepool/nodes/{number}", held)
    try:
        eventually(lambda: busy.picture.snapshot().reading.one(f"/nodepool/nodes/{number}"))
        for path in ("?q=img", "nodes?state=hold", f"nodes/{number}", f"requests/{FRESH}"):
            with visit(chromium, busy.address + path) as visited:
                expect(visited.page.locator("#content")).to_contain_text("<img src=x onerror")
                assert visited.page.evaluate("window.pwned") is None
                assert visited.page.locator("#content img, #content script").count() == 0
                assert too_wide(visited.page) == []
    finally:
        for path in (f"/nodepool/nodes/{number}", f"/nodepool/requests/{FRESH}"):
            busy.client.delete(path)


def test_a_server_that_is_away_is_said_and_found_again(busy, chromium):
    with ExitStack() as stack:
        first = Listening(Application(busy.picture), HOST, 0)
        with first, visit(chromium, first.address) as visited:
            page = visited.page
            expect(page.locator("#live-text")).to_contain_text("live")
            first.__exit__(None, None, None)
            expect(page.locator("#live-text")).to_contain_text("no answer since", timeout=patience())
            assert page.locator("#h-queue").is_visible()
            second = stack.enter_context(Listening(Application(busy.picture), HOST, first.port))
            assert second.port == first.port
            expect(page.locator("#live-text")).to_contain_text("live", timeout=2 * patience())
            # The browser itself reports each attempt that found no server.
            visited.complaints[:] = [told for told in visited.complaints if "ERR_CONNECTION" not in told]
