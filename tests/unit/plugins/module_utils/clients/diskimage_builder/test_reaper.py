# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is removed after a build, and what is never touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder import commands
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.commands import CommandResult
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.reaper import System, reap
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.scratch import Leftover

ID = "d" * 32
OWN = f".stackci-tmp-{'e' * 32}"


class Machine:
    """A machine whose mounts and loop devices are on paper."""

    def __init__(self, folder: Path, refuse=()):
        self.proc, self.sys = folder / "proc", folder / "sys"
        (self.proc / "self").mkdir(parents=True)
        self.mounts: list[str] = []
        self.devices: dict[str, str] = {}
        self.refuse = refuse
        self.busy = False
        self.ran: list[list[str]] = []
        self.write()

    def write(self):
        lines = [f"1 0 0:1 / {point.replace(' ', chr(92) + '040')} rw - x x rw\n" for point in self.mounts]
        (self.proc / "self" / "mountinfo").write_text("".join(lines))
        for name in ("loop0", "loop1", "loop2", "loop3", "sda"):
            folder = self.sys / "block" / name / "loop"
            folder.mkdir(parents=True, exist_ok=True)
            backing = folder / "backing_file"
            if name in self.devices:
                backing.write_text(self.devices[name] + "\n")
            else:
                backing.unlink(missing_ok=True)

    def run(self, argv, folder=None):
        argv = list(argv)
        if argv[:2] == ["sudo", "-n"]:  # whoever is not root does it so
            del argv[:2]
        self.ran.append(argv)
        lazy = "-l" in argv
        if any(word in argv for word in self.refuse) or (self.busy and argv[0] == "umount" and not lazy):
            return CommandResult(1, "busy")
        if argv[0] == "umount":
            self.mounts.remove(argv[-1])
        elif argv[0] == "losetup":
            del self.devices[os.path.basename(argv[-1])]
        elif argv[0] == "rm":
            return commands.run(argv, folder=folder)
        self.write()
        return CommandResult(0)

    def reap(self, leftover):
        self.write()
        system = System(str(self.proc), str(self.sys), self.run, lambda seconds: None, lambda name: None)
        return reap(leftover, system=system)


@pytest.fixture
def left(tmp_path):
    claim = tmp_path / "images" / ".stackci-tmp" / ID
    (claim / "dib_build.x").mkdir(parents=True)
    return Leftover(ID, "deb", str(claim), str(claim))


def test_mounts_and_devices_of_ours_and_of_nobody_else(tmp_path, left):
    machine = Machine(tmp_path)
    machine.mounts = ["/", left.place + "/a b", left.place + "/a b/proc", left.place + "x", "/mnt"]
    machine.devices = {"loop0": f"{left.place}/image0.raw (deleted)", "loop1": f"{left.place}x/image0.raw"}
    done = machine.reap(left)
    assert machine.mounts == ["/", left.place + "x", "/mnt"]
    assert list(machine.devices) == ["loop1"]
    assert done.mounts == [left.place + "/a b/proc", left.place + "/a b"]  # the deepest first
    assert done.loop_devices == ["/dev/loop0"]
    assert done.problems == []
    assert not os.path.exists(left.claim)


def test_a_device_whose_mount_is_gone_is_known_by_the_end_of_its_name(tmp_path, left):
    machine = Machine(tmp_path)
    own = f"/.stackci-tmp/{ID}"
    machine.devices = {
        "loop0": f"{own}/dib_image.x/image0.raw (deleted)",
        "loop1": f"/images{own}/dib_image.x/image0.raw",
        # Of another place, and of another build.
        "loop2": f"/other{own}/image0.raw",
        "loop3": f"/images{own}0/image0.raw",
    }
    done = machine.reap(left)
    assert done.loop_devices == ["/dev/loop0", "/dev/loop1"]
    assert sorted(machine.devices) == ["loop2", "loop3"]
    assert done.problems == []


def test_nothing_is_removed_below_a_mount_that_stays(tmp_path, left):
    machine = Machine(tmp_path, refuse=("umount",))
    machine.mounts = [left.place + "/mnt/dev"]
    done = machine.reap(left)
    assert done.problems == [f"{left.place}/mnt/dev cannot be unmounted"]
    assert os.path.isdir(left.place)
    assert not any(argv[0] == "rm" for argv in machine.ran)
    assert len(machine.ran) < 30


def test_a_busy_mount_is_taken_out_of_sight(tmp_path, left):
    machine = Machine(tmp_path)
    machine.mounts = [left.place + "/mnt"]
    machine.busy = True
    assert machine.reap(left).problems == []
    assert machine.mounts == []


def test_a_device_that_stays_is_told(tmp_path, left):
    machine = Machine(tmp_path, refuse=("losetup",))
    machine.devices = {"loop2": f"{left.place}/image0.raw"}
    done = machine.reap(left)
    assert done.problems == ["/dev/loop2 cannot be detached"]
    assert "loop2" in done.text()
    assert os.path.isdir(left.place)


def test_both_places_go(tmp_path, left):
    place = tmp_path / "fast" / OWN / ID
    place.mkdir(parents=True)
    done = Machine(tmp_path).reap(Leftover(ID, "deb", left.claim, str(place)))
    assert done.problems == []
    assert not done.anything
    assert not place.parent.exists() and place.parent.parent.exists()
    assert not os.path.exists(left.claim)


@pytest.fixture
def victim(tmp_path):
    """A folder of root's that somebody wants to have removed."""
    folder = tmp_path / "victim"
    (folder / ID).mkdir(parents=True)
    (folder / ID / "file").touch()
    return folder


def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path, left, victim):
    place = tmp_path / "shared" / OWN / ID
    place.parent.mkdir(parents=True)
    place.symlink_to(victim / ID)
    machine = Machine(tmp_path)
    machine.mounts = [str(victim / ID / "mnt")]
    machine.reap(Leftover(ID, "deb", left.claim, str(place)))
    assert (victim / ID / "file").exists()
    assert machine.mounts == [str(victim / ID / "mnt")]
    assert not place.is_symlink()


@pytest.mark.parametrize("part", ["shared", f"shared/{OWN}"])
def test_a_link_on_the_way_is_told_and_not_followed(tmp_path, left, victim, part):
    (tmp_path / part).parent.mkdir(exist_ok=True)
    (tmp_path / part).symlink_to(victim if part.endswith(OWN) else victim.parent / "away")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / OWN).symlink_to(victim)
    place = tmp_path / "shared" / OWN / ID
    done = Machine(tmp_path).reap(Leftover(ID, "deb", left.claim, str(place)))
    assert (victim / ID / "file").exists()
    assert f"{place} is not touched: " in done.text() and "link" in done.text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_lies_in_a_directory_of_another_user_is_left_alone(tmp_path, left):
    place = tmp_path / "shared" / OWN / ID
    place.mkdir(parents=True)
    os.chown(place.parent, 4321, 4321)
    machine = Machine(tmp_path)
    machine.mounts = [f"{place}/mnt"]
    done = machine.reap(Leftover(ID, "deb", left.claim, str(place)))
    assert place.exists() and machine.mounts
    assert "belongs to user 4321" in done.text()
