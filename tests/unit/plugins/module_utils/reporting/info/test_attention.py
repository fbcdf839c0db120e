# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.attention import RowsOf, attention
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.causes import CAUSES, row_about
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_list import image_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.labels import label_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_troubles import LONG_WAIT
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import MOST_ROWS, status_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import overview
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.troubles import anchor, troubles
from tests.support import busy_tree
from tests.support.tree_reading import NOW, reading_of
from tests.support.web_case import WebCase

CONFIG = parse_config(busy_tree.config())
MANUAL = Path(__file__).resolve().parents[6] / "docs" / "operating.md"


def told(documents: dict[str, Any], locks=(), file_problems=()) -> list[dict[str, Any]]:
    reading = reading_of(documents, locks)
    requests = request_rows(reading, NOW)
    labels, images = label_rows(CONFIG, reading, NOW, requests), image_rows(CONFIG, reading, NOW)
    return attention(reading, NOW, RowsOf(provider_rows(CONFIG, reading, NOW), images, labels, requests), file_problems)


def busy(more: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return told({**busy_tree.documents(NOW), **(more or {})}, busy_tree.locks())


def busy_without_requests(more: dict[str, Any]) -> list[dict[str, Any]]:
    return told({**busy_tree.documents(NOW, requests=0), **more}, busy_tree.locks())


def request(number: int, state: str, age: float, label: str = "small") -> dict[str, Any]:
    at = NOW - age
    return {f"/nodepool/requests/300-{number:010d}": {"state": state, "node_types": [label], "state_time": at}}


def test_the_words_of_the_cloud_are_told_and_the_worst_comes_first():
    rows = busy()
    assert [row["level"] for row in rows] == sorted(row["level"] for row in rows)
    texts = {row["where"]: row["text"] for row in rows if row["cause"] in ("provider", "stuck")}
    assert "503 Service Unavailable" in texts["cloud-syd"] or "1 deletion stuck" in texts["cloud-syd"]
    (freeze,) = (row for row in rows if row["where"] == "cloud-nyc/main" and row["cause"] == "freeze")
    assert freeze["text"].startswith("frozen after a refused create (instances): Quota exceeded for instances")
    assert freeze["ends_in"] == 38.0
    (build,) = (row for row in rows if row["cause"] == "build")
    assert "mirror answered 404" in build["text"] and build["ends_in"] == 900.0


def test_a_provider_that_flaps_is_told_while_it_is_well():
    place, slot = f"{paths.OWN}/providers/cloud-fra", str(int(NOW // 300) - 3)
    document = {**busy_tree.documents(NOW)[place], "calls": {slot: [200, 38]}}
    (row,) = (row for row in busy({place: document}) if row["cause"] == "flapping")
    assert row["text"] == "38 of 200 calls of the last hour failed (19 %)" and row["owner"] == "cloud"
    assert row["command"] == "ansible localhost -m stackci.nodepool.provider_info -a providers=cloud-fra"
    ill = {**document, "health": {"state": "trouble", "text": "503"}}
    assert not any(row["cause"] == "flapping" for row in busy({place: ill}))
    assert not any(row["cause"] == "flapping" for row in busy({place: {**document, "calls": {slot: [200, 19]}}}))


def test_a_provider_without_a_launcher_is_trouble_only_when_nobody_serves_it():
    rows = told({})
    assert [row["where"] for row in rows if row["cause"] == "no-launcher"] == sorted(busy_tree.PROVIDERS)
    assert not any(row["cause"] == "label-unserved" for row in rows), "that would be said once more for each label"
    assert not any(row["cause"] == "no-launcher" for row in busy())


def test_a_tree_for_which_only_commands_launch_misses_no_launcher_but_tells_what_waits_for_one():
    """As after a quick start: the launcher has ended with the lease, and nothing is wrong."""
    quiet = {f"{paths.OWN}/providers/cloud-fra": {"brief": True}}
    nodes = [{"provider": "cloud-fra", "pool": "main", "state": state} for state in ("hold", "used")]

    def missed(*there: dict[str, Any]) -> list[dict[str, Any]]:
        documents = {f"{paths.NODES}/{number:010d}": node for number, node in enumerate(there)}
        return [row for row in told({**quiet, **documents}) if row["cause"] == "no-launcher"]

    assert "cloud-fra" not in [row["where"] for row in missed()] and len(missed()) == len(busy_tree.PROVIDERS) - 1
    assert "cloud-fra" not in [row["where"] for row in missed(nodes[0])], "a leased node is at rest"
    (row,) = (row for row in missed(*nodes) if row["where"] == "cloud-fra")
    assert row["text"] == "1 node to be launched or deleted waits for a command with --launch"
    assert row["remedy"] == "repeat its lease or release with --launch, or start a launcher"


def test_a_label_that_no_pool_offers_is_told_once_a_launcher_works():
    (row,) = (row for row in busy(request(1, "requested", 1.0, "lrage")) if row["subject"] == "lrage")
    assert (row["cause"], row["text"]) == (
        "label-unserved",
        "no registered pool offers this label; 1 request for it",
    )


def test_labels_without_a_pool_that_nobody_asks_for_are_one_row_behind_those_that_are_asked_for():
    """A list of labels may name many that no provider has; a row for each would push other troubles away."""
    unserved = {"configured": True, "wanted": 0, "pools": [], "requests": 0, "min_ready_missing": 0}
    labels = [{**unserved, "label": f"old-{number}"} for number in range(5)]
    labels += [{**unserved, "label": "wanted-1", "requests": 1}, {**unserved, "label": "wanted-9", "requests": 9}]

    def rows_of(*some: dict[str, Any]) -> list[dict[str, Any]]:
        return attention(reading_of({}), NOW, RowsOf(labels=some, providers=provider_rows(CONFIG, served, NOW)))

    served = reading_of(busy_tree.documents(NOW), busy_tree.locks())
    rows = [row for row in rows_of(*labels) if row["cause"] == "label-unserved"]
    assert [row["where"] for row in rows] == ["wanted-9", "wanted-1", "5 labels"]
    assert rows[-1]["text"].startswith(
        "no registered pool offers old-0, old-1, old-2 and 2 other labels, and nobody asks"
    )
    assert troubles(rows)[-1]["href"] == "#h-labels"
    apart = [row for row in rows_of(*labels[:3]) if row["cause"] == "label-unserved"]
    assert [row["where"] for row in apart] == ["old-0", "old-1", "old-2"]


def test_ready_nodes_that_many_labels_miss_are_one_row():
    """A cloud that is down takes the ready nodes of all its labels; a row for each would push other troubles away."""
    config = parse_config(busy_tree.config().replace("min-ready: 0", "min-ready: 2"))
    documents = {path: one for path, one in busy_tree.documents(NOW).items() if "/nodes/" not in path}
    reading = reading_of(documents, busy_tree.locks())
    labels = label_rows(config, reading, NOW)
    (row,) = [row for row in attention(reading, NOW, RowsOf(labels=labels)) if row["cause"] == "min-ready"]
    assert row["where"] == "6 labels" and row["count"] == 12 and row["subject"] == ""
    told = "12 of 12 ready nodes are missing: centos-stream-10, debian-12, debian-12-arm64 and 3 other labels"
    assert row["text"] == told
    assert troubles([row])[0]["href"] == "#h-labels"
    few = [row for row in attention(reading, NOW, RowsOf(labels=labels[:3])) if row["cause"] == "min-ready"]
    assert [row["where"] for row in few] == [row["label"] for row in labels[:3]]


def without_upload(*places: tuple[str, str]) -> list[dict[str, Any]]:
    """The rows when these providers lack these images."""
    images = [row for row in image_rows(CONFIG, reading_of({}), NOW) if row["image"] in {name for name, _at in places}]
    for row in images:
        row["providers"] = [item for item in row["providers"] if (row["image"], item["provider"]) in places]
    return attention(reading_of({}), NOW, RowsOf(images=images))


def test_an_image_without_an_upload_is_trouble():
    rows = without_upload(("debian-12", "cloud-fra"), ("fedora-42", "cloud-fra"), ("fedora-42", "cloud-syd"))
    assert [(row["where"], row["text"]) for row in rows] == [
        ("debian-12 at cloud-fra", "there is no ready upload"),
        ("fedora-42 at cloud-fra", "there is no ready upload"),
        ("fedora-42 at cloud-syd", "there is no ready upload"),
    ]


def test_uploads_that_many_providers_lack_are_one_row():
    """Without a builder, and at a new site, no provider has any; a row for each would push other troubles away."""
    (row,) = (row for row in told({}) if row["cause"] == "no-upload")
    count = len(busy_tree.PROVIDERS) * len(busy_tree.IMAGES)
    assert (row["where"], row["count"]) == (f"{len(busy_tree.PROVIDERS)} providers", count)
    told_of = "there is no ready upload of centos-stream-10, debian-12, debian-12-arm64 and 2 other images at cloud-"
    assert row["text"].startswith(told_of) and troubles([row])[0]["href"] == "images?q="
    (row,) = without_upload(*((image, "cloud-syd") for image in busy_tree.IMAGES[:4]))
    assert (row["where"], row["provider"], row["count"]) == ("cloud-syd", "cloud-syd", 4)
    assert row["text"].endswith("and 1 other image at cloud-syd")
    assert troubles([row])[0]["href"] == "images?q=cloud-syd"


def test_a_configuration_that_is_not_used_comes_first():
    beat = {"hostname": "nl01", "cycle": "launcher", "config_problems": ["nodepool.yaml:14: is no YAML"]}
    row = busy({f"{paths.OWN}/heartbeats/nl01-0": beat})[0]
    assert (row["level"], row["where"]) == ("bad", "configuration")
    assert "nl01 cannot be used: nodepool.yaml:14" in row["text"]


def test_the_files_of_the_service_itself_are_told_unless_a_cycle_tells_the_same():
    problem = "nodepool.yaml:14: is no YAML"
    beat = {"hostname": "nl01", "cycle": "launcher", "config_problems": [problem]}
    reading = reading_of({f"{paths.OWN}/heartbeats/nl01-0": beat})
    assert len(attention(reading, NOW, RowsOf(), [problem])) == 1
    (row,) = attention(reading_of({}), NOW, RowsOf(), [problem])
    assert row["text"] == f"the configuration of this view cannot be used: {problem}; it uses the previous one"


def test_nothing_is_wrong_with_an_empty_tree():
    assert attention(reading_of({}), NOW, RowsOf()) == []


def test_a_wrong_chroot_is_told_before_launchers_that_are_missed():
    """Launchers may work well at another chroot."""
    text = busy_tree.config().replace("host: 127.0.0.1", "host: zk1, chroot: /ci")
    documents: dict[str, Any] = {}
    config = parse_config(text, path="/etc/nodepool/nodepool.yaml")
    rows = WebCase(documents, config=config).get("/").text
    first, second = re.findall(r'<span class="told">(.*?)<', rows, re.DOTALL)[:2]
    assert unescape(first).strip() == (
        "/etc/nodepool/nodepool.yaml: there is no node, request, image or launcher in chroot /ci of zk1:2281: correct"
        " chroot in zookeeper-servers, unless no launcher or builder has run yet"
    )
    assert second.strip() == "no launcher serves this provider"
    assert "there is no node, request" not in WebCase(busy_tree.documents(NOW), config=config).get("/").text


def test_requests_are_told_by_cause_and_not_one_by_one():
    documents: dict[str, Any] = {}
    for number in range(30):
        documents |= request(number, "requested", LONG_WAIT + number)
        full = {"code": "no-room", "where": "west/main", "resource": "instances", "text": f"{number} left", "at": NOW}
        documents[f"{paths.OWN}/waits/300-{number:010d}"] = {**full, "owner": "capacity"}
    documents |= request(50, "requested", LONG_WAIT - 1)
    for number in (60, 61):
        documents |= request(number, "failed", 5.0, "large")
        reasons = [{"code": "label-broken", "where": "east/main", "text": "no flavor 'lrage'", "owner": "label"}]
        documents[f"{paths.OWN}/waits/300-{number:010d}"] = {"code": "failed", "text": "no flavor", "reasons": reasons}
    rows = [row for row in told(documents) if row["cause"].startswith("requests")]
    assert [(row["cause"], row["where"], row["count"], row["owner"], row["text"]) for row in rows] == [
        ("requests-failed", "east/main", 2, "label", "2 requests for large failed: no flavor"),
        ("requests-wait", "west/main", 30, "capacity", "30 requests for small wait: 29 left"),
    ]
    assert rows[1]["age"] == LONG_WAIT + 29 and rows[1]["command"] == "nodepoolctl why 300-0000000029"


def test_requests_that_wait_for_a_full_pool_tell_how_many_nodes_were_deleted_there():
    documents: dict[str, Any] = {}
    for number, code in ((1, "no-room"), (2, "tenant-limit")):
        documents |= request(number, "requested", LONG_WAIT + number)
        wait = {"code": code, "where": "west/main", "resource": "instances", "text": "0 left in west/main", "at": NOW}
        documents[f"{paths.OWN}/waits/300-{number:010d}"] = {**wait, "owner": "capacity"}
    gone = [{"pool": "main", "at": NOW - 40 * number} for number in range(12)]
    documents[f"{paths.OWN}/providers/west"] = {"gone": gone}
    rows = {row["code"]: row["text"] for row in told(documents) if row["cause"] == "requests-wait"}
    waits = "1 request for small waits: 0 left in west/main"
    given_back = "12 nodes of it were deleted in the last ten minutes"
    assert rows == {"no-room": f"{waits} ({given_back})", "tenant-limit": waits}


def test_every_pool_s_reason_is_told_for_the_oldest_request_alone():
    documents: dict[str, Any] = request(1, "requested", 3000.0, "debian-12") | request(2, "requested", 900.0, "windows")
    full = {"code": "no-room", "resource": "instances", "at": NOW, "since": NOW}
    here = {**full, "where": "cloud-fra/main", "text": "0 of 20 left in cloud-fra/main"}
    there = {**full, "pool": "cloud-nyc/main", "text": "1 of 20 left in cloud-nyc/main"}
    documents[f"{paths.OWN}/waits/300-0000000001"] = {**here, "pools": [{**here, "pool": "cloud-fra/main"}, there]}
    rows = {row["subject"]: row for row in busy_without_requests(documents) if row["cause"] == "requests-wait"}
    row = rows["300-0000000001"]
    assert row["text"] == "1 request for debian-12 waits: 0 of 20 left in cloud-fra/main (37 of 34 instances used)"
    assert row["pools"] == ["1 of 20 left in cloud-nyc/main"], "the third one has said nothing"
    assert rows["300-0000000002"]["pools"] == []


def test_the_reasons_of_many_pools_are_counted():
    documents: dict[str, Any] = request(1, "requested", 3000.0)
    for number in range(12):
        pool = {"name": "main", "provider_name": f"p{number:02d}", "supported_labels": ["small"]}
        pool_id = f"other-PoolWorker.p{number:02d}-main"
        documents[f"{paths.COMPONENTS}/pool/{number:010d}"] = {**pool, "id": pool_id}
    (row,) = (row for row in told(documents) if row["cause"] == "requests-wait")
    assert len(row["pools"]) == 9 and row["pools"][-1] == "and 4 other pools"


def test_requests_that_wait_for_the_end_of_a_freeze_are_told_with_it():
    before = {(row["cause"], row["where"]): row["count"] for row in busy()}
    documents: dict[str, Any] = {}
    for number in (1, 2):
        documents |= request(number, "requested", LONG_WAIT)
        wait = {"code": "frozen", "where": "cloud-nyc/main", "resource": "instances", "text": "x", "at": NOW}
        documents[f"{paths.OWN}/waits/300-{number:010d}"] = {**wait, "owner": "capacity"}
    rows = busy(documents)
    (freeze,) = (row for row in rows if row["cause"] == "freeze")
    assert freeze["count"] == before["freeze", "cloud-nyc/main"] + 2
    assert "wait for this" in freeze["text"]
    assert not any(row["cause"] == "requests-wait" and row["where"] == "cloud-nyc/main" for row in rows)


def test_what_ends_is_named():
    """A held canary is not tried again: its hold ends."""
    canary = {
        "state": "hold",
        "state_time": NOW - 600,
        "provider": "cloud-fra",
        "pool": "main",
        "type": ["stackci-canary-debian-12"],
        "hold_expiration": 7200,
    }
    documents = {"/nodepool/nodes/0000000900": canary, **busy_tree.documents(NOW, requests=0)}
    case = WebCase(documents, busy_tree.locks(), config=CONFIG)
    shown = re.sub(r"<[^>]*>", "", case.get("/").text)
    screen = "\n".join(status_lines(CONFIG, reading_of(documents, busy_tree.locks()), NOW, 300))
    for text in (shown, screen):
        assert re.search(r"its hold ends in 1 h 50 min\n", f"{text}\n"), text
        assert "next try in 15 min" in text


def test_servers_made_for_nothing_are_told():
    minute = str(int(NOW // 60))
    (row,) = (
        row
        for row in told({f"{paths.OWN}/providers/cloud-fra": {"harvest": {minute: [12, 1, 11]}}})
        if row["cause"] == "wasted"
    )
    assert row["text"] == "12 servers created, 1 ready, 11 given up in ten minutes"
    quiet = told({f"{paths.OWN}/providers/cloud-fra": {"harvest": {minute: [12, 9, 3]}}})
    assert not any(row["cause"] == "wasted" for row in quiet)


def test_a_hostile_name_stays_one_word_of_the_command():
    name = "x; rm -rf $(HOME) '"
    breaker = {f"{paths.OWN}/breakers/{name}": {"debian/small": {"until": NOW + 60, "failures": 5, "text": "no"}}}
    provider: dict[str, Any] = {f"{paths.OWN}/providers/{name}": {}}
    (row,) = (row for row in told({**breaker, **provider}) if row["cause"] == "breaker")
    assert json.loads(shlex.split(row["command"])[-1]) == {"provider": name, "kind": "breaker"}


@pytest.mark.parametrize(
    ("name", "freeze", "calls"),
    [
        ("west-1.b", "provider=west-1.b kind=freeze", "providers=west-1.b"),
        ("west coast", {"provider": "west coast", "kind": "freeze"}, {"providers": ["west coast"]}),
        ("a,b", {"provider": "a,b", "kind": "freeze"}, {"providers": ["a,b"]}),
    ],
)
def test_a_name_that_ansible_would_split_is_given_as_json(name, freeze, calls):
    for cause, options in (("freeze", freeze), ("flapping", calls)):
        word = shlex.split(row_about(cause, name, "x", provider=name)["command"])[-1]
        assert (word if isinstance(options, str) else json.loads(word)) == options


def test_the_screen_and_the_page_have_the_same_list():
    reading = reading_of(busy_tree.documents(NOW), busy_tree.locks())
    shown = status_lines(CONFIG, reading, NOW, 1000)
    rows = overview(CONFIG, reading, NOW).troubles
    assert shown[0] == f"ATTENTION {len(rows)}"
    marks = [line for line in shown[1:] if line.startswith(("  ! ", "  - "))]
    assert len(marks) == min(len(rows), MOST_ROWS) > 3
    assert len(rows) <= MOST_ROWS or f"  and {len(rows) - MOST_ROWS} more" in shown
    for row, line in zip(rows, marks, strict=False):
        assert line.startswith(f"  {'!' if row['level'] == 'bad' else '-'} {row['where']}: {row['text']}")
        below = shown.index(line) + 1
        assert shown[below] == f"    {row['remedy']}{': ' if row['command'] else ''}{row['command']}"
        told = row["pools"]
        assert shown[below + 1 : below + 1 + len(told)] == [f"      {said}" for said in told]


NO_TROUBLE = {
    "The other parts of the screen",
    "An inventory fails because servers are missing",
    "Several trees in one project",
    "Disabling a pool",
    "Removing a provider",
    "Ending a cycle",
    "Zuul, other launchers, stock tools",
    "What a cycle is doing",
    "Lines for programs",
    "The result of a cycle",
}
"""Sections about work, and about troubles that are told where they happen and not on the first screen."""


def test_each_other_section_of_the_manual_is_reached_from_a_cause():
    parts = re.split(r"^#{2,3} (.+)$", MANUAL.read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    names = {f"#{anchor(name)}": name for name in sections}
    assert len(names) == len(sections) > 25
    reached: set[str] = set()
    coming = [cause.section for cause in CAUSES.values()]
    while coming:
        section = coming.pop()
        if section in reached:
            continue
        reached.add(section)
        if section != "Other symptoms":  # which lists everything
            coming += [names[link] for link in re.findall(r"\]\((#[a-z0-9-]+)\)", sections[section])]
    asked_for = set(re.findall(r"\]\((#[a-z0-9-]+)\)", sections["Other symptoms"]))
    assert "Other symptoms" in reached
    for name in sections.keys() - reached - NO_TROUBLE:
        assert f"#{anchor(name)}" in asked_for, f"no row of the screen, and no symptom, leads to {name!r}"
    assert sections.keys() - reached >= NO_TROUBLE


def test_the_manual_has_a_row_and_a_section_for_each_cause():
    text = MANUAL.read_text()
    sections = set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    assert {cause.section for cause in CAUSES.values()} <= sections
    table = text[text.index("<!-- causes -->") : text.index("<!-- end of causes -->")]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line.startswith("| `")
    ]
    anchors = {name: "#" + re.sub(r"[^a-z0-9 -]", "", name.lower()).replace(" ", "-") for name in sections}
    assert [row[0] for row in rows] == [f"`{cause}`" for cause in CAUSES]
    for row, cause in zip(rows, CAUSES.values(), strict=True):
        assert row[2].startswith(cause.remedy) and row[2].endswith(f"[{cause.section}]({anchors[cause.section]})")


def test_leaks_that_cannot_be_deleted_are_stuck_deletions_of_their_provider():
    answer = "409 Conflict: Port 9c0a has a fault"
    seen = {
        "port/9c0a": {"first": NOW - 700, "tries": 4, "answer": answer},
        "volume/77": {"first": NOW - 600, "tries": 3, "answer": "400 in use"},
        "port/new": {"first": NOW - 60, "tries": 1, "answer": answer},
    }
    rows = busy({f"{paths.OWN}/sightings/cloud-fra": {"seen": seen}})
    (row,) = (row for row in rows if row["cause"] == "stuck" and row["where"] == "cloud-fra")
    assert (row["count"], row["age"]) == (2, 700.0)
    assert row["text"] == f"2 deletions stuck: port 9c0a: {answer}"
