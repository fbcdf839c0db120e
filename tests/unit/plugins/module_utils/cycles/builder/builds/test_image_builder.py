# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is seen to before a build is begun."""

from __future__ import annotations

import os
import time
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.child import Child
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import ImagesDir
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.isolation import Isolation
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.kernel_log import (
    WRITE_ERROR,
    KernelLog,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.processes import of_build
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds import (
    image_builder as image_builder_module,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.image_builder import (
    FAILED,
    MARGIN,
    TIMED_OUT,
    ImageBuilder,
    Job,
    room_needed,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import BuildNotes
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Diskimage
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, ImageFileError

MIB = 1 << 20
FAKE = next(folder for folder in Path(__file__).parents if folder.name == "tests") / "support" / "fake_dib.sh"


def job(folder, *formats, sizes=None, **options):
    return Job(
        image=Diskimage("deb", elements=("vm",), **options),
        build_id="a" * 32,
        formats=formats or ("raw",),
        images_dir=str(folder / "images"),
        log_dir=str(folder / "logs"),
        log_retention=1,
        notes=BuildNotes(sizes=sizes or {}),
    )


def test_without_a_build_before_nobody_knows(tmp_path):
    assert room_needed(job(tmp_path), str(tmp_path / "scratch")) == {}


def test_files_and_scratch_with_a_margin(tmp_path):
    wanted = job(tmp_path, "raw", "qcow2", "vhd", sizes={"raw": 100 * MIB, "qcow2": 40 * MIB})
    needs = room_needed(wanted, "/scratch")
    assert needs == {str(tmp_path / "images"): int(MARGIN * 240 * MIB), "/scratch": int(MARGIN * 200 * MIB)}


def test_no_room_no_build(tmp_path):
    image_builder = ImageBuilder(Isolation(), environment={})
    with pytest.raises(ImageFileError, match=r"images has \d+ MiB free, but \d+ MiB are needed"):
        image_builder.prepare(job(tmp_path, sizes={"raw": 1 << 60}))
    image_builder.prepare(job(tmp_path, sizes={"raw": 1}))


def test_what_would_be_in_the_way_is_told_without_a_trace(tmp_path):
    image_builder = ImageBuilder(Isolation(), environment={})
    text = image_builder.problem(job(tmp_path, sizes={"raw": 1 << 60}))
    assert text.startswith(f"cannot be built: {tmp_path}/images has ") and "MiB are needed" in text
    assert image_builder.problem(job(tmp_path, sizes={"raw": 1})) == ""
    assert os.listdir(tmp_path) == []


def test_a_first_build_wants_some_room_too(tmp_path):
    image_builder = ImageBuilder(Isolation(), environment={}, first_room=1 << 60)
    with pytest.raises(ImageFileError, match=r"but 2199023255552 MiB are needed before the first build of an image"):
        image_builder.prepare(job(tmp_path))  # both are on one file system
    image_builder.prepare(job(tmp_path, sizes={"raw": 1}))


def test_a_command_that_makes_no_sense_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="correct the quotes"):
        ImageBuilder(Isolation(), environment={}).prepare(job(tmp_path, dib_cmd="'"))
    assert os.listdir(tmp_path) == []


def test_logs_are_pruned_before_the_next_is_begun(tmp_path):
    (tmp_path / "logs").mkdir()
    for number in (1, 2):
        log = tmp_path / "logs" / f"deb-{number:032x}.log"
        log.touch()
        os.utime(log, (number, number))
    ImageBuilder(Isolation(), environment={}).prepare(job(tmp_path))
    assert os.listdir(tmp_path / "logs") == [f"deb-{2:032x}.log"]


@pytest.mark.parametrize("option", ["images", "logs", "scratch"])
def test_no_build_where_every_user_may_write(tmp_path, option):
    (tmp_path / option).mkdir()
    (tmp_path / option).chmod(0o777)
    with pytest.raises(ImageFileError, match=rf"every user of this machine may write to {tmp_path}/{option}"):
        ImageBuilder(Isolation(), environment={"TMPDIR": str(tmp_path / "scratch")}).prepare(job(tmp_path))


class FakeKernelLog(KernelLog):
    """Says that these devices have lost writes."""

    def __init__(self, *devices: str) -> None:
        super().__init__("/nonexistent")
        self.devices = devices
        self.closed = False

    def lost_writes(self, known: Container[str] = ()) -> dict[str, str]:
        return dict.fromkeys(self.devices, "no space left on device")

    def close(self) -> None:
        self.closed = True


def dib(folder, script):
    """Make a program that knows its first output file as $file and does what *script* says; return its path."""
    path = folder / "dib"
    path.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nfile=$2.raw\n{script}\n', encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def make(
    folder, monkeypatch, lost=(), used=lambda places: ["/dev/loop7"], options=None, clock=time.monotonic, **environment
):
    """A build by the stand-in whose image is written through loop7; the kernel says what *lost* does."""
    monkeypatch.setattr(image_builder_module, "loop_devices_below", used)
    log = FakeKernelLog(*lost)
    image_builder = ImageBuilder(
        Isolation(),
        environment={**os.environ, **environment},
        pause=lambda seconds: None,
        clock=clock,
        kernel_log=lambda: log,
    )
    wanted = job(folder, **{"dib_cmd": str(FAKE), **(options or {})})
    (folder / "images").mkdir(exist_ok=True)
    image_builder.prepare(wanted)
    made = image_builder.make(wanted)
    assert log.closed
    return made, sorted(name for name in os.listdir(folder / "images") if name.startswith("deb-"))


def test_an_image_that_the_kernel_could_not_write_is_no_success(tmp_path, monkeypatch):
    made, files = make(tmp_path, monkeypatch, ["/dev/loop7"])
    assert (made.cause, made.code == 0, files) == (FAILED, False, [])
    folder = tmp_path / "images"
    text = f"no space left on device: the kernel could not write all of the image to {folder}, through /dev/loop7"
    assert made.error.startswith(text)


def test_the_device_is_found_where_images_dir_is_a_link(tmp_path, monkeypatch):
    """The kernel shows the path of the file behind the device without links."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "images").symlink_to(tmp_path / "disk")

    def used(places):
        return ["/dev/loop7"] if f"{tmp_path}/disk/.stackci-tmp/{'a' * 32}" in places else []

    made, files = make(tmp_path, monkeypatch, ["/dev/loop7"], used)
    assert (made.cause, files) == (FAILED, [])


def test_what_another_device_lost_is_no_matter_of_this_image(tmp_path, monkeypatch):
    made, files = make(tmp_path, monkeypatch, ["/dev/loop8", "/dev/sda"])
    assert made.ok and files[-1].endswith(".raw.sha256")


def test_what_was_lost_before_the_build_had_the_device_is_another_builds(tmp_path, monkeypatch):
    """Two builds of a host: the loop device of the one that is ended is given to the other one at once."""
    looks = iter([["/dev/loop7"]])
    monkeypatch.setattr(FakeKernelLog, "lost_writes", lambda self, known: dict.fromkeys(next(looks, []), "I/O error"))
    begun: Iterator[list[str]] = iter([[]])
    made, files = make(tmp_path, monkeypatch, [], lambda places: next(begun, ["/dev/loop7"]))
    assert made.ok and files[-1].endswith(".raw.sha256")


def test_what_may_still_write_to_an_image_is_ended_before_its_checksums_are_computed(tmp_path, monkeypatch):
    left = []

    def write_checksums(folder, name, attend):
        left.append(of_build("a" * 32))

    monkeypatch.setattr(Child, "settle", lambda child: None)
    monkeypatch.setattr(ImagesDir, "write_checksums", write_checksums)
    script = "echo image > $file; setsid sleep 1000 &"
    made, files = make(tmp_path, monkeypatch, options={"dib_cmd": dib(tmp_path, script)})
    assert made.ok and len(files) == 1
    assert left == [set()]


def test_a_build_that_is_killed_tells_by_which_signal(tmp_path, monkeypatch):
    made, files = make(tmp_path, monkeypatch, options={"dib_cmd": dib(tmp_path, "kill -9 $$")})
    assert (made.cause, files) == (FAILED, [])
    assert made.error.startswith("dib was killed by signal 9; see ")


def test_a_build_that_takes_too_long_tells_where_it_was(tmp_path, monkeypatch):
    script = "echo dib-run-parts Running /tmp/in_target.d/install.d/50-fake; echo Reading package lists; sleep 1000"
    log = tmp_path / "logs" / f"deb-{'a' * 32}.log"

    def clock():
        return 1e9 if log.exists() and "\nReading" in log.read_text("utf-8") else 0.0

    made, files = make(tmp_path, monkeypatch, options={"dib_cmd": dib(tmp_path, script)}, clock=clock)
    assert (made.cause, files) == (TIMED_OUT, [])
    assert made.error.endswith(f" s, in install/50-fake: Reading package lists; see {log}")


def test_a_full_disk_is_told_with_the_remedy(tmp_path, monkeypatch):
    made, files = make(tmp_path, monkeypatch, [], FAKE_SIZE="none")
    assert (made.cause, files) == (FAILED, [])
    told = f"ended with exit code 1: No space left on device: free space in {tmp_path}/images; see "
    assert told in made.error


def test_an_image_that_cannot_be_written_any_longer_names_what_to_check(tmp_path, monkeypatch):
    """What programs say when the kernel could not write the file behind the loop device."""
    complaint = "cp: error writing '/mnt/lib/libc.so.6': Read-only file system"
    made, files = make(tmp_path, monkeypatch, [], FAKE_SIZE="none", FAKE_COMPLAINT=complaint)
    assert (made.cause, files) == (FAILED, [])
    told = f"{complaint}: check the free space in {tmp_path}/images, and dmesg for errors of the disk; see "
    assert told in made.error


def test_a_write_error_without_a_reason_names_both_remedies(tmp_path, monkeypatch):
    monkeypatch.setattr(FakeKernelLog, "lost_writes", lambda self, known: {"/dev/loop7": WRITE_ERROR})
    made, files = make(tmp_path, monkeypatch, [])
    assert (made.cause, files) == (FAILED, [])
    told = "through /dev/loop7: free space there if it is full, otherwise check that disk: it may be broken; see "
    assert made.error.startswith("write error: ") and told in made.error
