# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.listed import OtherBuilders
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.stranded import missed, returned, waiting_for
from tests.support.image_views import NOW, THEM, build, upload, view

THEIRS = build(1, builder_id=THEM, builder="them.example.org")


def state(*builds, **values):
    return ImageState("debian", builds=builds or (THEIRS,), **values)


def test_a_builder_is_missed_while_a_provider_waits_for_its_files_and_no_cycle_of_it_runs():
    seen = view(None, state())
    assert waiting_for(seen, THEIRS) == ["cloud1"]
    assert missed(seen) == [THEM]
    assert missed(replace(seen, absent={THEM: NOW})) == [], "it is known"
    assert missed(replace(seen, absent={THEM: NOW + 60})) == [THEM], "by a clock that was wrong"
    assert missed(replace(seen, others=OtherBuilders(alive=frozenset({THEM})))) == []
    assert missed(replace(seen, others=OtherBuilders(hosts=frozenset({"them"})))) == []
    assert missed(replace(seen, former=frozenset({THEM}))) == [], "it is this one"
    assert missed(replace(seen, images={"debian": state(uploads=[upload(1)])})) == [], "nobody waits"
    assert missed(replace(seen, images={"debian": state(THEIRS, build(2))})) == [], "this one has a newer build"
    assert missed(replace(seen, images={"debian": state(build(1, builder_id=None))})) == [], "of whom, nobody knows"


def test_an_absence_ends_when_the_builder_is_back_or_nothing_is_left_of_it():
    seen = view(None, state(uploads=[upload(1)]), absent={THEM: NOW - 5})
    assert returned(seen) == [], "it is still away, although nobody waits any more"
    assert returned(replace(seen, others=OtherBuilders(alive=frozenset({THEM})))) == [THEM]
    assert returned(replace(seen, others=OtherBuilders(hosts=frozenset({"them"})))) == [THEM]
    assert returned(replace(seen, builder_id=THEM)) == [THEM]
    assert returned(replace(seen, images={})) == [THEM]
    assert returned(replace(seen, absent={})) == []
