# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the web service remembers while it runs."""

from __future__ import annotations

import dataclasses
import json

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.recorder import LOOK_EVERY, Recorder
from tests.support import busy_tree
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase

CONFIG = parse_config(busy_tree.config())


def case():
    return WebCase(busy_tree.documents(NOW), busy_tree.locks(), config=CONFIG)


def after(found, recorder, seconds, steps=1):
    for _turn in range(steps):
        found.now += seconds
        recorder.step(found.now)


def test_a_point_comes_each_minute():
    found = case()
    recorder = Recorder(found.picture)
    after(found, recorder, 1.0, 130)
    points = found.picture.history.points
    assert [round(point.at - NOW) for point in points] == [1, 61, 121]
    assert "calls" not in points[0].groups and "calls" in points[1].groups


def test_without_zookeeper_there_is_a_gap_and_the_loss_is_a_change():
    found = case()
    recorder = Recorder(found.picture)
    after(found, recorder, 1.0, 5)
    found.lose()
    after(found, recorder, 10.0, 20)
    assert len(found.picture.history.points) == 1
    assert [change.kind for change in found.picture.history.changes][-1] == "zookeeper_lost"


def test_a_new_build_and_another_launcher_are_changes():
    found = case()
    recorder = Recorder(found.picture)
    after(found, recorder, LOOK_EVERY)
    kinds = [change.kind for change in found.picture.history.changes]
    assert "build_live" not in kinds and "launcher_serves" not in kinds and "provider_in_trouble" in kinds
    documents = busy_tree.documents(NOW)
    upload = next(path for path, document in documents.items() if document.get("state") == "uploading")
    found.session.put(upload, json.dumps({**documents[upload], "state": "ready"}).encode())
    place = f"{paths.COMPONENTS}/pool/launcher10000000000"
    found.session.put(place, json.dumps({**documents[place], "hostname": "launcher9"}).encode())
    after(found, recorder, LOOK_EVERY)
    told = {change.kind: change.told for change in found.picture.history.changes}
    assert told["build_live"] == f"build {upload.split('/')[5]} of ubuntu-24.04 is live at {busy_tree.ILL}"
    assert told["launcher_serves"] == "provider cloud-fra: the launcher on launcher9 serves it"


def test_a_configuration_that_was_read_again_names_what_changed():
    found = case()
    changed = dataclasses.replace(CONFIG, max_hold_age=7)
    Recorder(found.picture).configured(CONFIG, changed)
    (change,) = found.picture.history.changes
    assert change.text == "configuration read again: max-hold-age"


def test_a_fault_ends_nothing(monkeypatch, caplog):
    found = case()
    recorder = Recorder(found.picture)
    monkeypatch.setattr(found.picture, "snapshot", lambda: 1 / 0)
    after(found, recorder, LOOK_EVERY)
    assert "the history could not be continued" in caplog.text
    monkeypatch.undo()
    after(found, recorder, LOOK_EVERY)
    assert len(found.picture.history.points) == 1
