# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a growing log tells, and which logs there are."""

from __future__ import annotations

import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.logs import (
    LONGEST_LINE,
    LogTail,
    append_line,
    find_cause,
    list_logs,
    make_folder,
    open_log,
    remove_logs,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError

STAMP = "2026-11-21 13:42:48.029 | "


def test_phase_and_line_follow_what_is_appended(tmp_path):
    log = tmp_path / "x.log"
    tail = LogTail(str(log))
    assert tail.read() is False
    log.write_text(f"{STAMP}Running hooks from /t/dib_build.x/hooks/root.d\n{STAMP}+ lib/x:main:1  :  export A=1\n")
    assert tail.read() is True
    assert (tail.phase, tail.last_line) == ("root", "Running hooks from /t/dib_build.x/hooks/root.d")
    with log.open("a") as file:
        file.write(f"{STAMP}dib-run-parts Running /tmp/in_target.d/install.d/50-tiny\n{STAMP}half a li")
    tail.read()
    assert (tail.phase, tail.last_line) == (
        "install/50-tiny",
        "dib-run-parts Running /tmp/in_target.d/install.d/50-tiny",
    )
    with log.open("a") as file:
        file.write("ne\n")
    tail.read()
    assert (tail.phase, tail.last_line) == ("install/50-tiny", "half a line")
    assert tail.read() is False


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("dib-run-parts Sat Nov 21 13:00:00 UTC 2026 Running /tmp/in_target.d/pre-install.d/03-x", "pre-install/03-x"),
        ("Calculating image size (this may take a minute)...", "sizing"),
        ("Converting image using qemu-img convert", "converting"),
        ("Image file /o/x.raw created...", "converting"),
        ("Build completed successfully", "finished"),
    ],
)
def test_phases(tmp_path, line, phase):
    log = tmp_path / "x.log"
    log.write_text(f"{STAMP}{line}\n")
    tail = LogTail(str(log))
    tail.read()
    assert tail.phase == phase


def test_a_line_is_short_printable_and_without_secrets(tmp_path):
    log = tmp_path / "x.log"
    log.write_bytes(b"token s3cret!\x1b[31m \xff" + b"x" * 500 + b"\n")
    tail = LogTail(str(log), ["s3cret!", "no", ""])
    tail.read()
    assert tail.last_line.startswith("token ***\N{REPLACEMENT CHARACTER}[31m ")
    assert len(tail.last_line) == LONGEST_LINE
    assert tail.last_line.isprintable()


FULL_DISK = f"""\
{STAMP}+ lib/x:main:1  :  echo 'No space left on device'
{STAMP}Get:1 http://deb.example.org bookworm InRelease
{STAMP}tar: ./usr/lib/s3cret!/x.so: Cannot write: No space left on device
{STAMP}tar: ./usr/lib/y.so: Cannot write: No space left on device
{STAMP}tar: Exiting with failure status due to previous errors
"""


def test_the_first_cause_is_found(tmp_path):
    log = tmp_path / "x.log"
    log.write_text(FULL_DISK)
    assert find_cause(str(log), ["s3cret!"]) == "tar: ./usr/lib/***/x.so: Cannot write: No space left on device"
    log.write_text("all is well\n")
    assert find_cause(str(log)) == find_cause(str(tmp_path / "none")) == ""


def test_a_line_that_only_tells_of_another_is_not_the_last(tmp_path):
    log = tmp_path / "x.log"
    log.write_text(FULL_DISK)
    tail = LogTail(str(log))
    tail.read()
    assert tail.last_line == "tar: ./usr/lib/y.so: Cannot write: No space left on device"


TRACE = "+ diskimage_builder/lib/"
CLEARING = f"""\
{STAMP}{TRACE}disk-image-create:main:1                                   :   trap_cleanup
{STAMP}{TRACE}img-functions:trap_cleanup:35                              :   exitval=1
{STAMP}{TRACE}img-functions:cleanup:41                                   :   unmount_image
{STAMP}*** /tmp/dib_build.QpiP9Rip/mnt is not a directory
{STAMP}INFO diskimage_builder.block_device.blockdevice [-] State already cleaned - no way to do anything here
{STAMP}rm: cannot remove '/tmp/dib_image.mGLMxCPg': No space left on device
{STAMP}{TRACE}img-functions:trap_cleanup:37                              :   exit 1
"""
"""What diskimage-builder 3.43 printed after its exit trap began; the line of rm is added."""
PROBLEM = "diskimage_builder.block_device.exception.BlockDeviceSetupException"
WRONG_CONFIG = f"{PROBLEM}: Config entry is not a plugin value"
BLOCK_DEVICE = f"""\
{STAMP}{TRACE}common-functions:mk_build_dir:46                           :   trap trap_cleanup EXIT
{STAMP}Building in /tmp/dib_build.QpiP9Rip
{STAMP}  File "/venv/diskimage_builder/block_device/config.py", line 106, in config_tree_to_graph
{STAMP}    raise BlockDeviceSetupException(
{STAMP}{WRONG_CONFIG}: {{'nonsense': {{'base': 'image0', 'name': 'mkfs_root'}}}}
"""
"""The same for a wrong DIB_BLOCK_DEVICE_CONFIG."""
NO_KPARTX = f"""\
{STAMP}dib-run-parts Running /tmp/in_target.d/finalise.d/01-some
{STAMP}./01-some: line 3: optional-tool: command not found
{STAMP}Calculating image size (this may take a minute)...
{STAMP}INFO diskimage_builder.block_device.utils [-] Calling [sudo kpartx -av /dev/loop0]
{STAMP}DEBUG diskimage_builder.block_device.utils [-] exec_sudo: sudo: kpartx: command not found exec_sudo /u.py:135
{STAMP}ERROR diskimage_builder.block_device.blockdevice [-] Create failed; rollback initiated
{STAMP}Traceback (most recent call last):
{STAMP}    exec_sudo(["kpartx", "-av", self.device_path])
{STAMP}{PROBLEM}: exec_sudo failed: sudo: kpartx: command not found
{STAMP}
{STAMP}WARNING diskimage_builder.block_device.utils [-] Removing device failed (1)
{STAMP}ERROR diskimage_builder.block_device.blockdevice [-] Rollback complete, exiting
"""
"""The same for a host without kpartx; the first two lines are added."""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (BLOCK_DEVICE, WRONG_CONFIG),
        (NO_KPARTX, "BlockDeviceSetupException: exec_sudo failed: sudo: kpartx: command not found"),
        ("bash: mkfs.xfs: command not found\nthat was all\n", "bash: mkfs.xfs: command not found"),
        ("./50-x: 7: curl: not found\nthat was all\n", "./50-x: 7: curl: not found"),
        ("env: 'python': No such file or directory\nthat was all\n", "env: 'python': No such file or directory"),
        ("subprocess.CalledProcessError: Command 'x'\nthat was all\n", "subprocess.CalledProcessError: Command 'x'"),
        ("KeyError: 'DIB_RELEASE'\nthat was all\n", "KeyError: 'DIB_RELEASE'"),
        (FULL_DISK + "KeyError: 'DIB_RELEASE'\n", "Cannot write: No space left on device"),
    ],
)
def test_the_cause_is_what_was_printed_before_the_exit_trap(tmp_path, text, cause):
    log = tmp_path / "x.log"
    log.write_text(text + CLEARING)
    assert cause in find_cause(str(log))
    tail = LogTail(str(log))
    tail.read()
    assert "is not a directory" not in tail.last_line and "rm: " not in tail.last_line


def test_a_command_that_an_earlier_step_did_without_is_no_cause(tmp_path):
    log = tmp_path / "x.log"
    log.write_text(
        f"{STAMP}dib-run-parts Running /t/install.d/10-a\n{STAMP}./10-a: line 3: optional: command not found\n"
        f"{STAMP}dib-run-parts Running /t/install.d/20-b\n{STAMP}E: it cannot go on\n{CLEARING}"
    )
    assert find_cause(str(log)) == ""
    tail = LogTail(str(log))
    tail.read()
    assert (tail.phase, tail.last_line) == ("install/20-b", "E: it cannot go on")


def test_without_a_trace_the_lines_of_the_clean_up_are_known_too(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("E: it cannot go on\n*** /tmp/dib_build.QpiP9Rip/mnt is not a directory\n")
    tail = LogTail(str(log))
    tail.read()
    assert tail.last_line == "E: it cannot go on"


def test_a_long_line_keeps_its_end(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("mount: /srv/" + "x" * 400 + ": wrong fs type, bad option\n")
    tail = LogTail(str(log))
    tail.read()
    assert tail.last_line.startswith("mount: /srv/") and tail.last_line.endswith(": wrong fs type, bad option")
    assert len(tail.last_line) == LONGEST_LINE and "…" in tail.last_line


def test_a_log_that_runs_away_costs_no_memory(tmp_path):
    log = tmp_path / "x.log"
    tail = LogTail(str(log))
    with log.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 30)
        file.write(b"\nlast\n")
    tail.read()
    assert tail.last_line == "last"
    assert len(tail._rest) == 0


def test_append_line_begins_a_line_of_its_own(tmp_path):
    log = tmp_path / "x.log"
    append_line(str(log), "one")
    with log.open("a") as file:
        file.write("cut off")
    append_line(str(log), "Exit code: 0")
    assert log.read_text() == "one\ncut off\nExit code: 0\n"
    append_line(str(tmp_path / "no" / "folder"), "lost")


def test_folder_that_cannot_be_made_is_named(tmp_path):
    make_folder(str(tmp_path / "a" / "b"), "build-log-dir")
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageFileError, match=r"build-log-dir .*/file/logs: cannot be created"):
        make_folder(str(tmp_path / "file" / "logs"), "build-log-dir")


def test_logs_are_listed_and_removed(tmp_path):
    (tmp_path / "a.log").write_text("")
    os.utime(tmp_path / "a.log", (5, 5))
    (tmp_path / "dir.log").mkdir()
    assert list_logs(str(tmp_path)) == [("a.log", 5.0)]
    assert list_logs(str(tmp_path / "no")) == []
    remove_logs(str(tmp_path), ["a.log", "gone.log", "dir.log"])
    assert list_logs(str(tmp_path)) == []


def test_a_log_that_somebody_else_put_there_is_not_written(tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("root")
    (tmp_path / "soft.log").symlink_to(passwd)
    (tmp_path / "hard.log").hardlink_to(passwd)
    os.mkfifo(tmp_path / "pipe.log")
    for name in ("soft.log", "hard.log", "pipe.log"):
        append_line(str(tmp_path / name), "toor")
        with pytest.raises(OSError, match=name):
            open_log(str(tmp_path / name))
    assert passwd.read_text() == "root"


@pytest.mark.parametrize(
    "text",
    [
        "dpkg: error processing package foo (--configure):\nE: Sub-process /usr/bin/dpkg returned an error code (1)",
        "E: Unable to locate package foo\nE: Couldn't find any package by glob 'foo'",
        "  - nothing provides libfoo needed by foo-1.0\n(try to add '--skip-broken' to skip uninstallable packages)",
        "npm ERR! 404 Not Found - GET https://registry.example.org/foo\nnpm ERR! A complete log of this run is in: /x",
        "foo.c:1:10: fatal error: foo.h: No such file or directory\ncompilation terminated.\nmake: *** [foo.o] Error 1",
        "/t/install.d/50-foo: line 4:   123 Killed                  mksquashfs a b\n50-foo has ended with 137",
        "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nexit status 2",
        'Exception in thread "main" java.lang.NullPointerException\n\tat x.Y.main(Y.java:3)',
        "thread 'main' panicked at src/main.rs:1:2\nnote: run with `RUST_BACKTRACE=1` for a backtrace",
    ],
)
def test_the_summary_of_a_program_is_not_the_cause(tmp_path, text):
    log = tmp_path / "x.log"
    log.write_text("".join(f"{STAMP}{line}\n" for line in text.split("\n")) + CLEARING)
    assert find_cause(str(log)) == text.split("\n")[0]


def test_lines_that_only_count_errors_are_no_cause(tmp_path):
    log = tmp_path / "x.log"
    log.write_text("libgpg-error0 is already the newest version\n0 errors, 0 warnings\nSetting up npm (9.2)\n")
    assert find_cause(str(log)) == ""
