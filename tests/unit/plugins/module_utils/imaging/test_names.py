# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.command import command, divide
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.files import (
    image_file,
    log_file,
    logs_to_prune,
    recognise,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import (
    MOST_BACKOFF,
    BuilderNote,
    BuildNotes,
    Failures,
    build_notes_path,
    builder_note_path,
    former_builders,
    upload_notes_path,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Diskimage
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import span
from tests.support.image_views import build_id

HEX = build_id(7)
NONCE = "c" * 32


@pytest.mark.parametrize(
    ("name", "image", "image_format", "is_image"),
    [
        (f"debian-{HEX}.qcow2", "debian", "qcow2", True),
        (f"debian-12-arm-{HEX}.raw", "debian-12-arm", "raw", True),
        (f"debian-{HEX}.qcow2.md5", "debian", "qcow2", False),
        (f"debian-{HEX}.vhd.sha256", "debian", "vhd", False),
        (f"debian-{HEX}.d", "debian", "", False),
    ],
)
def test_what_a_name_tells(name, image, image_format, is_image):
    found = recognise(name, is_directory=name.endswith(".d"), size=3, modified=4.0)
    assert (found.image, found.build_id, found.format, found.is_image) == (image, HEX, image_format, is_image)
    assert (found.name, found.size, found.modified) == (name, 3, 4.0)


@pytest.mark.parametrize(
    "name", ["builder_id.txt", f"{HEX}.qcow2", f"debian-{HEX}", f"debian-{HEX[1:]}.raw", ".stackci-tmp", f"-{HEX}.raw"]
)
def test_what_belongs_to_no_build(name):
    assert recognise(name) is None


def test_a_name_is_recognised_as_it_was_made():
    found = recognise(image_file("a-b", HEX, "raw"))
    assert (found.image, found.build_id, found.format, found.is_image) == ("a-b", HEX, "raw", True)


@pytest.mark.parametrize("name", ["ubuntu-24.04", "a.raw", "a.d", "a-b.qcow2"])
def test_a_dot_in_the_name_of_an_image_is_no_ending(name):
    found = recognise(image_file(name, HEX, "raw"))
    assert (found.image, found.build_id, found.format) == (name, HEX, "raw")


def test_only_logs_of_exactly_that_image_are_pruned():
    logs = [(log_file("debian", build_id(number)), float(number)) for number in range(5)]
    others = [(log_file("debian-arm", build_id(9)), 0.0), ("debian.log", 0.0), ("messages", 0.0)]
    names = [name for name, _modified in logs]
    assert logs_to_prune([*logs, *others], "debian", 2) == names[2::-1]
    assert logs_to_prune([*logs, *others], "debian", 0) == names[3::-1]
    assert logs_to_prune([*logs, *others], "debian", 9) == []
    assert logs_to_prune([*logs, *others], "debian", -1) == []


def made(image=None, formats=("raw", "qcow2"), environment=None, elements_dir="/etc/elements"):
    return command(
        image or Diskimage("debian", elements=("debian-minimal", "vm"), release="bookworm", env_vars={"DIB_X": "1"}),
        HEX,
        formats,
        images_dir="/srv/dib/",
        elements_dir=elements_dir,
        environment=environment or {"PATH": "/bin"},
        nonce=NONCE,
    )


def test_the_call_of_diskimage_builder():
    assert made().argv == (
        "disk-image-create", "-x", "-t", "qcow2,raw", "--checksum", "--no-tmpfs", "--qemu-img-options", "compat=0.10",
        "-o", f"/srv/dib/debian-{HEX}", "debian-minimal", "vm",
    )  # fmt: skip
    assert "--qemu-img-options" not in made(formats=["raw"]).argv
    wrapped = Diskimage("debian", dib_cmd="sudo -n '/opt/my dib/disk-image-create' -v")
    assert made(wrapped).argv[:4] == ("sudo", "-n", "/opt/my dib/disk-image-create", "-v")


def test_its_environment():
    assert made().environment == {
        "PATH": "/bin",
        "DIB_RELEASE": "bookworm",
        "DIB_IMAGE_NAME": "debian",
        "DIB_IMAGE_FILENAME": f"/srv/dib/debian-{HEX}",
        "ELEMENTS_PATH": "/etc/elements",
        "DIB_X": "1",
        "TMP_DIR": f"/srv/dib/.stackci-tmp/{HEX}",
        "TMPDIR": f"/srv/dib/.stackci-tmp/{HEX}",
        "STACKCI_NODEPOOL_BUILD": HEX,
    }
    assert "ELEMENTS_PATH" not in made(elements_dir=None).environment


def test_env_vars_win_and_secrets_are_not_shown():
    image = Diskimage("debian", release="1", env_vars={"DIB_RELEASE": "2", "TOKEN": "sesame", "TMP_DIR": "/big/"})
    found = made(image)
    assert found.environment["DIB_RELEASE"] == "2"
    assert found.temporary == found.environment["TMP_DIR"] == f"/big/.stackci-tmp-{NONCE}/{HEX}"
    assert "sesame" not in repr(found)
    marked = Diskimage("debian", env_vars={"STACKCI_NODEPOOL_BUILD": "x"})
    assert made(marked).environment["STACKCI_NODEPOOL_BUILD"] == HEX
    assert made(environment={"TMPDIR": "/fast", "TMP_DIR": "/slow"}).temporary == f"/fast/.stackci-tmp-{NONCE}/{HEX}"


@pytest.mark.parametrize(
    ("dib_cmd", "why"), [("a 'b", "quotes"), (" ", "is empty: write the program"), ("%p/../dib", "%p")]
)
def test_a_dib_cmd_that_cannot_be_used_is_named(dib_cmd, why):
    with pytest.raises(ConfigError, match=why) as caught:
        made(Diskimage("debian", dib_cmd=dib_cmd))
    assert "diskimages[debian]: dib-cmd" in str(caught.value)


def test_who_makes_which_format():
    assert divide(["vhd", "qcow2"], convert_vhd=False).made == ("qcow2", "vhd")
    both = divide(["vhd", "qcow2"], convert_vhd=True)
    assert (both.made, both.converted, both.surplus) == (("qcow2",), (("qcow2", "vhd"),), ())
    raw = divide(["vhd", "qcow2", "raw"], convert_vhd=True)
    assert (raw.made, raw.converted, raw.surplus) == (("qcow2", "raw"), (("raw", "vhd"),), ())
    alone = divide(["vhd"], convert_vhd=True)
    assert (alone.made, alone.converted, alone.surplus) == (("raw",), (("raw", "vhd"),), ("raw",))
    assert divide(["raw"], convert_vhd=True).converted == ()


def test_failures_wait_longer_and_longer_but_never_more_than_an_hour():
    failures, waits = Failures(), []
    for _attempt in range(12):
        failures = failures.again("x" * 999, 1000.0, 0.5, build="b")
        waits.append(failures.not_before - 1000.0)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, MOST_BACKOFF, MOST_BACKOFF, MOST_BACKOFF]
    assert (failures.count, len(failures.error), failures.build) == (12, 500, "b")
    assert Failures().again("", 0.0, 0.0).not_before == 9.0
    assert Failures().again("", 0.0, 1.0).not_before == 11.0
    assert Failures(count=10**9).again("", 0.0, 1.0).not_before == MOST_BACKOFF


def test_notes_come_back_as_they_were_stored_and_nonsense_does_no_harm():
    notes = BuildNotes(Failures().again("no space", 5.0, 0.5, request=7), {"raw": 4096}, 12.5)
    assert BuildNotes.from_document(notes.document()) == notes
    upload = Failures().again("quota", 5.0, 0.5, build=HEX)
    assert Failures.from_document(upload.document()) == upload
    assert Failures.from_document(Failures().document()) == Failures()
    for nonsense in (None, {}, {"failures": -1}, {"failures": "x", "sizes": [1]}, {"sizes": {"raw": "x"}}):
        assert BuildNotes.from_document(nonsense) == BuildNotes()


def test_room_is_judged_by_the_last_build():
    assert BuildNotes().space_needed(["raw"]) is None
    notes = BuildNotes(sizes={"raw": 10, "qcow2": 3})
    assert notes.space_needed(["qcow2"]) == 3
    assert notes.space_needed(["qcow2", "vhd"]) == 13


def test_where_notes_are():
    assert build_notes_path("a b") == "image-builds/a b"
    assert upload_notes_path("lock", "debian") == "image-uploads/%6C%6F%63%6B/debian"
    assert builder_note_path("a/b") == "image-builders/a%2Fb"


def test_a_note_of_a_builder_is_read_as_it_was_written():
    note = BuilderNote("one", "host", "/images", 1.0, 2.0)
    assert BuilderNote.from_document(note.document()) == note
    for nonsense in (None, {}, {**note.document(), "seen": "x"}, {**note.document(), "host": None}):
        assert BuilderNote.from_document(nonsense) is None


def test_a_builder_knows_which_ids_its_directory_had_before():
    before = BuilderNote("before", "host", "/images", 1.0, 5.0)
    others = [
        BuilderNote("elsewhere", "other", "/images", 1.0, 5.0),
        BuilderNote("beside", "host", "/more-images", 1.0, 5.0),
    ]
    own = BuilderNote("own", "host", "/images", 6.0, 9.0)
    assert former_builders([before, *others, own], "own", "host", "/images", 10.0) == {"before"}
    # Not written down yet, and without an id yet.
    assert former_builders([before, *others], "own", "host", "/images", 10.0) == {"before"}
    assert former_builders([before, *others], "", "host", "/images", 10.0) == {"before"}
    assert former_builders([before, *others], "before", "host", "/images", 10.0) == frozenset()
    # Who is at work since is another machine of that name: they do not rebuild in turn.
    twin = BuilderNote("twin", "host", "/images", 1.0, 7.0)
    assert former_builders([twin, own], "own", "host", "/images", 10.0) == frozenset()
    assert former_builders([twin, own], "twin", "host", "/images", 10.0) == frozenset()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (61, "1 min 1 s"), (3600, "1 h"), (90061, "1 d 1 h"), (-5, "0 s")]
)
def test_spans(seconds, text):
    assert span(seconds) == text
