# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A blind trial: one trouble at a time in a calm tree. The first screen and the page name its cause and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import day_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.causes import CAUSES
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import roots_of, status_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import overview, parts
from tests.support import busy_tree
from tests.support.tree_reading import NOW, reading_of

CONFIG_TEXT = busy_tree.config().replace("min-ready: 2", "min-ready: 0")
SECTIONS = ("freezes/", "breakers/", "stuck/", "sightings/", "image-builds/")
FRA = f"{paths.OWN}/providers/cloud-fra"
POOL = busy_tree.pool_id("cloud-fra")
REQUEST = "200-0000000001"
WIDE = 300
"""Columns of the screen: no sentence is wrapped."""


def calm() -> dict[str, Any]:
    """The tree of a busy site in which nothing is wrong."""
    documents = busy_tree.documents(NOW, requests=0)
    documents = {
        path: document
        for path, document in documents.items()
        if not path.removeprefix(f"{paths.OWN}/").startswith(SECTIONS)
    }
    for path, document in documents.items():
        if path.startswith(f"{paths.OWN}/providers/"):
            document["health"] = {"state": "ok"}
        if document.get("state") == "uploading":
            document["state"] = "ready"
        if "/images/" in path:
            document["state_time"] = NOW - 3600 if document["state"] == "ready" else NOW - 90_000
    return documents


def request(state: str, *, label: str = "debian-12", age: float = 1800.0) -> dict[str, Any]:
    moments = {"state_time": NOW - age, "created_time": NOW - age}
    return {f"{paths.REQUESTS}/{REQUEST}": {"state": state, "node_types": [label], "requestor": "zuul", **moments}}


def waits(**reason: Any) -> dict[str, Any]:
    return {f"{paths.OWN}/waits/{REQUEST}": {"since": NOW - 900, "at": NOW - 3, **reason}}


def failed(code: str, where: str, text: str, owner: str) -> dict[str, Any]:
    told = [{"code": code, "where": where, "text": text, "owner": owner}]
    return {**request("failed"), **waits(code="failed", text=text, reasons=told)}


def health(text: str, owner: str = "cloud") -> dict[str, Any]:
    return {FRA: {"health": {"state": "trouble", "text": text, "since": NOW - 300, "owner": owner}}}


def notes(**found: Any) -> dict[str, Any]:
    return {"failures": 3, "failed_at": NOW - 100, "not_before": NOW + 500, **found}


_FAILED = {"kind": "canary", "passed": False, "reason": "DNS of the site", "at": NOW - 60}


def gate(found: dict[str, Any]) -> dict[str, Any]:
    """The record of a gate for the newest build."""
    record = {"build": _BUILD, "upload": "0000000001", "since": NOW - 300, **found}
    return {f"{paths.OWN}/image-gates/cloud-fra/debian-12": record}


@dataclass(frozen=True)
class Trouble:
    """What is made wrong, and what the operator must read.

    :ivar more: documents that are added to those of a calm tree; those of a provider are merged with its own.
    :ivar without: parts of the paths of documents and locks that are missing.
    """

    cause: str
    told: tuple[str, ...]
    remedy: str
    command: str
    more: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    config: str = CONFIG_TEXT
    settings: str | None = None


_FULL = "1 instance needed, 0 left in cloud-fra/main"
_TENANT = "8 cores needed, tenant openstack has 2 left of its limit of 40"
_CHECK = "ansible-playbook stackci.nodepool.config_validate"
_WHY = f"nodepoolctl why {REQUEST}"
_THROTTLE = "ansible localhost -m stackci.nodepool.throttle -a 'provider=cloud-fra kind="
_BUILD = next(path for path in calm() if path.startswith("/nodepool/images/debian-12/builds/00")).split("/")[5]
_BEFORE = _BUILD.replace("00", "01", 1)

TRIAL = {
    "a typing error in nodepool.yaml": Trouble(
        "configuration",
        ("launcher1", "nodepool.yaml:14: labels: is not a list"),
        "correct the file",
        _CHECK,
        {
            f"{paths.OWN}/heartbeats/l-0": {
                "hostname": "launcher1",
                "cycle": "launcher",
                "config_problems": ["nodepool.yaml:14: labels: is not a list"],
            }
        },
    ),
    "the launcher of a provider has ended": Trouble(
        "no-launcher",
        ("cloud-fra", "no launcher serves this provider"),
        "start the launcher",
        "systemctl status nodepool-launcher",
        without=("cloud-fra/lock", "launcher10000000000"),
    ),
    "the API answers 503": Trouble(
        "provider",
        ("cloud-fra", "GET /servers/detail: 503 Service Unavailable", "[owner: cloud]"),
        "tell the operators of the cloud",
        _CHECK,
        health("GET /servers/detail: 503 Service Unavailable"),
    ),
    "the API does not answer": Trouble(
        "provider",
        ("cloud-fra", "no answer within 30 s"),
        "tell the operators of the cloud",
        _CHECK,
        health("GET /limits: no answer within 30 s"),
    ),
    "the password of the account has expired": Trouble(
        "provider",
        ("cloud-fra", "401", "[owner: account]"),
        "correct the account of the provider in clouds.yaml",
        _CHECK,
        health("login: 401 Unauthorized: The password is expired", "account"),
    ),
    "a job asks for a label with a typing error": Trouble(
        "label-unserved",
        ("lrage", "no registered pool offers this label; 1 request for it"),
        "correct the label",
        _CHECK,
        request("requested", label="lrage", age=5.0),
    ),
    "a label names a flavor that the cloud does not have": Trouble(
        "requests-failed",
        ("cloud-fra/main", "no flavor 'lrage'; it offers large, small", "[owner: label]"),
        "correct the label in nodepool.yaml",
        _WHY,
        failed("label-broken", "cloud-fra/main", "no flavor 'lrage'; it offers large, small", "label"),
    ),
    "somebody has deleted the key pair": Trouble(
        "requests-failed",
        ("cloud-fra/main", "Invalid key_name provided", "[owner: label]"),
        "correct the label in nodepool.yaml",
        _WHY,
        failed("launch-failed", "cloud-fra/main", "launches failed: 400 Invalid key_name provided", "label"),
    ),
    "the image in use was deleted in glance": Trouble(
        "requests-wait",
        ("cloud-fra/main", "1 request for debian-12 waits: image debian-12 is gone from the cloud", "[owner: image]"),
        "see what one of them waits for",
        _WHY,
        {
            **request("requested"),
            **waits(
                code="image-gone",
                where="cloud-fra/main",
                image="debian-12",
                owner="image",
                text="image debian-12 is gone from the cloud, and there is no older one",
            ),
        },
    ),
    "nova answers creates too late": Trouble(
        "requests-wait",
        ("cloud-fra/main", "nova has not answered the create yet", "[owner: cloud]"),
        "see what one of them waits for",
        _WHY,
        {
            **request("pending"),
            **waits(
                code="unanswered",
                where="cloud-fra/main",
                owner="cloud",
                text="cloud-fra/main: nova has not answered the create yet; waiting for its server",
            ),
        },
    ),
    "servers of an image do not answer by ssh": Trouble(
        "requests-failed",
        ("ssh did not answer within 300 s", "[owner: image]"),
        "correct the image and build it again",
        _WHY,
        failed("launch-failed", "cloud-fra/main", "ssh did not answer within 300 s", "image"),
    ),
    "the builds of an image fail": Trouble(
        "build",
        ("debian-12", "3 builds failed in a row: mirror answered 404"),
        "correct the image, or the machine of the builder",
        "nodepoolctl builds",
        {f"{paths.OWN}/image-builds/debian-12": notes(error="mirror answered 404")},
    ),
    "the disk of the builder is full": Trouble(
        "build",
        ("debian-12", "3 builds failed in a row: tar: No space left on device: free space in /opt/dib"),
        "do what the text says: correct the image, or the machine of the builder",
        "nodepoolctl builds",
        {f"{paths.OWN}/image-builds/debian-12": notes(error="tar: No space left on device: free space in /opt/dib")},
    ),
    "the uploads of an image fail": Trouble(
        "upload",
        ("debian-12 at cloud-fra", "3 uploads failed in a row: 413 image_size_total quota"),
        "the builder retries",
        "nodepoolctl images",
        {f"{paths.OWN}/image-uploads/cloud-fra/debian-12": notes(error="413 image_size_total quota")},
    ),
    "the gate has rejected a build": Trouble(
        "build-unused",
        ("debian-12 at cloud-fra", "the test playbook failed"),
        "correct the image and build it again, or restore the build",
        "nodepoolctl restore debian-12",
        {
            f"{paths.OWN}/image-verdicts/debian-12": {
                _BUILD: {"state": "rejected", "reason": "the test playbook failed", "by": "gate", "at": NOW}
            }
        },
        without=("cloud-nyc/images/", "cloud-syd/images/"),
    ),
    "the newest build fails its test, and the image in use does not": Trouble(
        "gate-rejected",
        ("debian-12 at cloud-fra", "is rejected: 2 canaries failed: DNS of the site"),
        "correct the image and build it again",
        "nodepoolctl images",
        gate({"outcome": "rejected", "note": "2 canaries failed: DNS of the site"}),
    ),
    "the test of a new build fails on the image in use, too": Trouble(
        "gate-inconclusive",
        ("debian-12 at cloud-fra", "is not decided: inconclusive: the mirror is down"),
        "it is not the image",
        "nodepoolctl images",
        gate({"round": 1, "note": "inconclusive: the mirror is down"}),
    ),
    "a new build passes its test at the second try only": Trouble(
        "gate-flaky",
        ("debian-12 at cloud-fra", "passed after a failure: DNS of the site"),
        "see the log of the test that failed",
        "nodepoolctl images",
        gate({"outcome": "passed", "note": "DNS of the site", "results": [_FAILED, {**_FAILED, "passed": True}]}),
    ),
    "a canary that failed is held for a person": Trouble(
        "gate-held",
        ("cloud-fra", "canary 0000000900 of debian-12 is held for a person and takes room: no DNS"),
        "release it as soon as you have seen enough",
        "nodepoolctl unhold 0000000900",
        {
            f"{paths.NODES}/0000000900": {
                "state": "hold",
                "state_time": NOW - 600,
                "provider": "cloud-fra",
                "pool": "main",
                "type": ["stackci-canary-debian-12"],
                "hold_job": "gate of debian-12",
                "hold_expiration": 7200,
                "comment": "no DNS",
            }
        },
    ),
    "the clock of a launcher is wrong": Trouble(
        "clock",
        ("launcher1", "the clock of launcher1 is 1 h 2 min behind that of ZooKeeper"),
        "synchronize the clock",
        "timedatectl status",
        {f"{paths.OWN}/heartbeats/l-0": {"hostname": "launcher1", "cycle": "launcher", "clock_ahead": -3725}},
    ),
    "the name of statsd has a typing error": Trouble(
        "metrics",
        ("launcher1", "the host 'statsd.exmaple' of STATSD_HOST cannot be resolved"),
        "correct STATSD_HOST in the environment",
        "systemctl show nodepool-launcher --property Environment",
        {
            f"{paths.OWN}/heartbeats/l-0": {
                "hostname": "launcher1",
                "cycle": "launcher",
                "unsent_metrics": "statsd: the host 'statsd.exmaple' of STATSD_HOST cannot be resolved (Name unknown)",
            }
        },
    ),
    "the other launcher's host is gone": Trouble(
        "no-standby",
        ("cloud-fra", "no other launcher has stood by for it for 40 min"),
        "start the launcher of the other host",
        "systemctl status nodepool-launcher",
        {FRA: {"stood_by": NOW - 2400}},
    ),
    "most servers are given up before they are nodes": Trouble(
        "wasted",
        ("cloud-fra", "20 servers created, 2 ready, 17 given up in ten minutes"),
        "see why the servers of one failed node were given up",
        "journalctl -u nodepool-launcher -n 50",
        {FRA: {"harvest": {str(int(NOW // 60) - 1): [20, 2, 17]}}},
    ),
    "the API fails now and then": Trouble(
        "flapping",
        ("cloud-fra", "30 of 100 calls of the last hour failed (30 %)"),
        "show the operators of the cloud which calls fail",
        "ansible localhost -m stackci.nodepool.provider_info -a providers=cloud-fra",
        {FRA: {"calls": {str(int(NOW // 300)): [100, 30]}}},
    ),
    "all pools are full": Trouble(
        "requests-wait",
        ("cloud-fra/main", f"1 request for debian-12 waits: {_FULL}"),
        "see what one of them waits for",
        _WHY,
        {**request("requested"), **waits(code="no-room", where="cloud-fra/main", resource="instances", text=_FULL)},
    ),
    "a tenant has used its share": Trouble(
        "requests-wait",
        (_TENANT,),
        "see what one of them waits for",
        _WHY,
        {**request("requested"), **waits(code="tenant-limit", tenant="openstack", text=_TENANT)},
    ),
    "the quota of the project was lowered": Trouble(
        "freeze",
        ("cloud-fra/main", "frozen after a refused create (cores): Quota exceeded for cores"),
        "end it by hand after the limit was raised",
        f"{_THROTTLE}freeze'",
        {
            f"{paths.OWN}/freezes/{POOL}": {
                "cores": {"resource": "cores", "until": NOW + 30, "text": "Quota exceeded for cores"}
            }
        },
    ),
    "the quota of volumes is used up": Trouble(
        "freeze",
        ("cloud-fra/main", "frozen after a refused create (volumes): VolumeLimitExceeded: 10 volumes allowed"),
        "end it by hand after the limit was raised",
        f"{_THROTTLE}freeze'",
        {
            f"{paths.OWN}/freezes/{POOL}": {
                "volumes": {
                    "resource": "volumes",
                    "until": NOW + 30,
                    "text": "VolumeLimitExceeded: 10 volumes allowed",
                }
            }
        },
    ),
    "no host takes a flavor": Trouble(
        "breaker",
        ("cloud-fra", "debian-12 with v3-standard-8 failed 5 times in a row: No valid host was found"),
        "see why its servers fail",
        f"{_THROTTLE}breaker'",
        {
            f"{paths.OWN}/breakers/cloud-fra": {
                "debian-12/v3-standard-8": {"failures": 5, "until": NOW + 90, "text": "No valid host was found"}
            }
        },
    ),
    "ready nodes are missing": Trouble(
        "min-ready",
        ("debian-12", "96 of 99 ready nodes are missing"),
        "check that the clouds have what the label needs",
        _CHECK,
        config=CONFIG_TEXT.replace("{name: debian-12, min-ready: 0}", "{name: debian-12, min-ready: 99}"),
    ),
    "a server cannot be deleted": Trouble(
        "stuck",
        ("cloud-fra", "1 deletion stuck: 409 Conflict"),
        "ask the operators of the cloud to delete them",
        "nodepoolctl list --state deleting",
        {
            f"{paths.OWN}/stuck/s-1": {
                "provider": "cloud-fra",
                "server": "5d2f",
                "node": "0000000007",
                "since": NOW - 900,
                "tries": 7,
                "answer": "409 Conflict",
            }
        },
    ),
    "nobody builds images any more": Trouble(
        "stale",
        ("debian-12", "the newest build is older than twice its rebuild-age"),
        "start a builder, or ask for a build",
        "nodepoolctl build debian-12",
        {
            f"/nodepool/images/debian-12/builds/{build}": {"state": "ready", "state_time": NOW - age, "formats": "raw"}
            for build, age in ((_BUILD, 300_000), (_BEFORE, 400_000))
        },
    ),
    "a provider has no upload of an image": Trouble(
        "no-upload",
        ("debian-12 at cloud-fra", "there is no ready upload"),
        "check that a builder works",
        "nodepoolctl images",
        without=tuple(f"builds/{build}/providers/cloud-fra" for build in (_BUILD, _BEFORE)),
    ),
    "a tenant has exceeded its budget": Trouble(
        "budget",
        ("tenant blind", "40.0 node-hours of 30 used today"),
        "see what it was used for",
        "nodepoolctl usage --tenant blind --by project --by label",
        {
            f"{paths.OWN}/usage-days/{day_of(NOW)}": {
                "amounts": ["used"],
                "rows": [[["blind", "p", "j", "debian-12", "cloud-fra", "main"], [144_000_000]]],
            }
        },
        settings="usage-budgets: [{name: blind, hours-per-day: 30}]",
    ),
    "somebody has written nonsense into a record": Trouble(
        "record",
        ("cloud-fra", "the record of the provider cannot be used"),
        "a launcher that acts for the provider rewrites it",
        "",
        {FRA: {"reading": "full"}},
    ),
}


def tree(trouble: Trouble | None = None):
    found, locks = calm(), busy_tree.locks()
    for path, document in (trouble.more if trouble else {}).items():
        found[path] = {**found.get(path, {}), **document} if path == FRA else document
    for part in trouble.without if trouble else ():
        found = {path: document for path, document in found.items() if part not in path}
        locks = [path for path in locks if part not in path]
    text, settings = (trouble.config, trouble.settings) if trouble else (CONFIG_TEXT, None)
    return found, locks, parse_config(text, settings_text=settings)


def first_screen(trouble: Trouble | None = None) -> list[str]:
    """The screen as its module makes it, which reads only a part of the tree."""
    documents, locks, config = tree(trouble)
    roots = tuple(f"{root}/" for root in roots_of(config))
    read = {path: document for path, document in documents.items() if path.startswith(roots)}
    return status_lines(config, reading_of(read, locks), NOW, WIDE)


def test_the_tree_is_calm_before():
    assert first_screen()[0] == "ATTENTION none"


def test_the_trial_has_twenty_troubles_and_every_cause():
    assert len(TRIAL) >= 20
    assert {trouble.cause for trouble in TRIAL.values()} == set(CAUSES)


@pytest.mark.parametrize("name", TRIAL)
def test_the_first_screen_and_the_page_name_cause_and_remedy(name: str):
    trouble = TRIAL[name]
    documents, locks, config = tree(trouble)
    screen = first_screen(trouble)
    page = parts(overview(config, reading_of(documents, locks), NOW))["troubles"].rows
    first = page[0]
    assert first["cause"] == trouble.cause
    assert screen[0].startswith("ATTENTION ") and int(screen[0].split()[1]) == len(page)
    for words in trouble.told:
        assert words in screen[1]
        assert words in f"{first['where']}: {first['text']} [owner: {first['owner']}]"
    assert trouble.remedy in screen[2] and screen[2].endswith(trouble.command)
    assert trouble.remedy in first["remedy"] and first["command"] == trouble.command
