# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZooKeeper goes away while somebody looks at the page: nothing on it claims to be the state of now."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.integration.web.test_browser import FRESH, chromium, record, row, site_of
from tests.support.browser import barriers, patience, shoot, visit
from tests.support.fixtures_zookeeper import bare_client, end
from tests.support.zookeeper_server import ZooKeeperServer

__all__ = ["chromium"]


@pytest.mark.long
def test_zookeeper_stops_and_comes_back(chromium):
    with ZooKeeperServer(tick_ms=100) as server, ExitStack() as stack:
        site = site_of(server, stack)
        record(site)
        with visit(chromium, site.address, dark=True, width=400) as visited:
            page = visited.page
            expect(page.locator("#live-text")).to_contain_text("live")
            server.stop()
            banner = page.locator(".banner")
            expect(banner).to_contain_text("ZooKeeper does not answer")
            expect(banner.locator("time")).to_be_visible()
            assert page.locator("#h-queue .count").inner_text() == "29"
            # What is shown is old: nothing says that it is live, or that it needs attention now.
            expect(page.locator("#live-text")).to_contain_text("state of")
            expect(page.locator("#h-attention")).to_contain_text("Needed attention before")
            expect(page.locator("#said")).to_have_text("ZooKeeper does not answer")
            expect(banner).to_contain_text("Bring ZooKeeper back")
            expect(banner.locator("a")).to_have_attribute("href", re.compile(r"#the-other-parts-of-the-screen$"))
            expect(page.locator("section[data-key=past] polyline").first).to_be_attached()
            assert barriers(page) == []
            shoot(page, "zookeeper-away-dark-phone")
            server.start()
            # The session of the client may have expired meanwhile.
            site.client = bare_client(server, site.chroot)
            stack.callback(end, site.client)
            expect(banner).to_have_count(0, timeout=2 * patience())
            expect(page.locator("#live-text")).to_contain_text("live")
            expect(page.locator("#said")).to_contain_text("need attention")
            site.request()
            page.goto(f"{site.address}requests")
            expect(row(page, FRESH)).to_be_visible()
