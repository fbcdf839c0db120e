# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.absence import (
    Absence,
    absence_path,
    given_up_at,
    whereabouts,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Diskimage
from tests.support.image_views import NOW, THEM, build, config, view

GIVEN_UP = Diskimage.builder_gone_after
THEIRS = build(1, builder_id=THEM, builder="them.example.org")


def test_the_delay_is_told():
    seen = view(None, ImageState("debian", builds=(THEIRS,)))
    assert given_up_at(seen, THEIRS) is None
    known = replace(seen, absent={THEM: NOW - 60})
    assert given_up_at(known, THEIRS) == NOW - 60 + GIVEN_UP
    assert whereabouts(known, THEIRS) == (
        "its files are on the builder them.example.org; no cycle of that builder has run for 1 min, and other builders"
        " do without them in 29 min"
    )
    wrong = replace(seen, absent={THEM: NOW + 1e6})
    assert given_up_at(wrong, THEIRS) == NOW + GIVEN_UP, "the clock that it was stored by was wrong"
    assert "has run for 0 s" in whereabouts(wrong, THEIRS)


def test_the_delay_is_that_of_the_image():
    images = {"debian": {"builder_gone_after": 60}, "ubuntu": {}}
    seen = view(config(images), ImageState("debian", builds=(THEIRS,)), absent={THEM: NOW - 90})
    assert given_up_at(seen, THEIRS) == NOW - 30
    assert whereabouts(seen, THEIRS).endswith("has run for 1 min 30 s, and other builders do without them now")
    other = replace(THEIRS, image="ubuntu")
    assert given_up_at(seen, other) == NOW - 90 + GIVEN_UP
    unknown = replace(THEIRS, image="fedora")
    assert given_up_at(seen, unknown) is None, "nobody builds it by this configuration"
    assert whereabouts(seen, unknown).endswith("no cycle of that builder runs now")


def test_what_is_stored_is_read_again_and_nonsense_is_nobodys_absence():
    known = Absence("b/1", 5.0)
    assert Absence.from_document(known.document()) == known
    assert absence_path("b/1") == "absent-builders/b%2F1"
    for bad in (None, {}, {"builder_id": [], "since": 5.0}, {"builder_id": "b", "since": "x"}):
        assert Absence.from_document(bad) is None
