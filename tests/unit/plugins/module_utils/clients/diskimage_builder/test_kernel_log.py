# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lost writes in the log of the kernel; the lines are those of Linux 4.19, 5.10 and 6.18."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.kernel_log import KernelLog

FULL = "critical space allocation error, dev loop0, sector 26088 op 0x1:(WRITE) flags 0x0 phys_seg 9 prio class 2"

EXT4 = "EXT4-fs warning (device loop1): ext4_end_bio:368: I/O error"


def record(text: str) -> str:
    return f"3,1234,27530942201,-;{text}\n SUBSYSTEM=block\n"


@pytest.fixture
def kmsg(tmp_path):
    path = tmp_path / "kmsg"
    path.write_text(record(FULL))
    return path


def test_only_what_comes_afterwards_counts(kmsg):
    log = KernelLog(str(kmsg))
    assert log.lost_writes() == {}
    with kmsg.open("a") as file:
        file.write(record(FULL.replace("loop0", "loop3")) * 3)
    assert log.lost_writes() == {"/dev/loop3": "no space left on device"}
    assert log.lost_writes() == {}
    log.close()
    assert log.lost_writes() == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("blk_update_request: I/O error, dev loop1, sector 8 op 0x1:(WRITE) flags 0x0 phys_seg 1", "I/O error"),
        ("print_req_error: I/O error, dev loop1, sector 8", "I/O error"),
        ("I/O error, dev loop1, sector 8", "I/O error"),
        ("I/O error, dev loop1, sector 8 op 0x0:(READ) flags 0x80700", None),
        ("operation not supported error, dev loop1, sector 29440 op 0x9:(WRITE_ZEROES) flags 0x20000800", None),
        (f"{EXT4} 3 writing to inode 15 starting block 14337)", "no space left on device"),
        (f"{EXT4} 10 writing to inode 15 starting block 14337)", "I/O error"),
        (f"{EXT4} 10 reading from inode 15", None),
        ("Buffer I/O error on dev loop1, logical block 1061, lost async page write", "write error"),
        ("Buffer I/O error on dev loop1, logical block 0, lost sync page write", "write error"),
        ("Buffer I/O error on dev loop1, logical block 1061, async page read", None),
        ("Aborting journal on device loop1-8.", "write error"),
        ("EXT4-fs (loop1): Remounting filesystem read-only", "write error"),
        ("XFS (loop1): log I/O error -28", None),
        (
            "XFS (loop1): Log I/O Error (0x2) detected at xlog_ioend_work+0x61 (a.c:1). Shutting down filesystem.",
            "write error",
        ),
        ("XFS (loop1): Log I/O Error Detected. Shutting down filesystem", "write error"),
        ("BTRFS info (device loop1): forced readonly", "write error"),
        ("BTRFS info (device loop1 state E): forced readonly", "write error"),
        ("BTRFS: info (device loop1): forced readonly", "write error"),
        ("EXT4-fs (loop1): mounted filesystem with ordered data mode", None),
    ],
)
def test_what_is_a_lost_write(kmsg, text, found):
    log = KernelLog(str(kmsg))
    with kmsg.open("a") as file:
        file.write(record(text))
    assert log.lost_writes() == ({} if found is None else {"/dev/loop1": found})
    log.close()


def test_a_reason_counts_more_than_that_a_file_system_stopped(kmsg):
    log = KernelLog(str(kmsg))
    with kmsg.open("a") as file:
        file.write(
            record("Aborting journal on device loop0-8.") + record(FULL) + record("I/O error, dev loop0, sector 8")
        )
    assert log.lost_writes() == {"/dev/loop0": "no space left on device"}
    log.close()


ATTACHED = "loop0: detected capacity change from 0 to 29568"


@pytest.mark.parametrize(
    ("texts", "known", "lost"),
    [
        # Another build lost them, and this one got its device.
        ([FULL, ATTACHED], [], False),
        ([FULL, ATTACHED, FULL], [], True),
        # The other way round: this build's look is late.
        ([FULL, ATTACHED], ["/dev/loop0"], True),
        ([FULL, ATTACHED.replace("loop0", "loop1")], [], True),
    ],
)
def test_a_device_that_gets_another_file_has_lost_nothing_yet(kmsg, texts, known, lost):
    log = KernelLog(str(kmsg))
    with kmsg.open("a") as file:
        file.writelines(map(record, texts))
    assert ("/dev/loop0" in log.lost_writes(known)) == lost
    log.close()


def test_a_log_that_cannot_be_read_says_nothing(tmp_path):
    assert KernelLog(str(tmp_path / "missing")).lost_writes() == {}
