# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What commands of probes write on a real ssh server: bytes of any kind, and any number of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.probing import LONGEST_OUTPUT, TAIL
from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import is_printable
from tests.integration.ssh.test_probing import tried

SECRET = "hunter22-of-the-site"


def told(folder: Path, *output: bytes) -> str:
    """What is told of a command that writes this and fails."""

    async def failing(process: Any) -> None:
        for part in output:
            process.stdout.write(part)
            await process.stdout.drain()
        process.exit(3)

    result, _connections = tried(folder, failing, timeout=4, secrets=(SECRET,), encoding=None, interval=60)
    assert result.error is not None and is_printable(result.error)
    assert "'smoke' on 127.0.0.1 ended with 3" in result.error
    _before, _between, said = result.error.partition("; its output ends with: ")
    assert len(said.encode()) <= LONGEST_OUTPUT
    return said


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"caf\xe9 \xff\xfe\n", "caf� ��"),
        (b"\xed\xa0\x80 half a letter \xe2\x82", "��� half a letter �"),
        (b"\x00\x01\x02\n", "���"),
        (b"\x1b]0;a title\x07\x1b[2J\x1b[1;31mno DNS\x1b[0m\r\n", "no DNS"),
        (b"10 %\r50 %\r100 %\r\n", "10 % 50 % 100 %"),
        ("\u202etxet \u200b\n".encode(), "�txet �"),
        (b"\n \n", ""),
    ],
)
def test_only_what_can_be_shown_is_told(tmp_path: Path, output: bytes, said: str) -> None:
    assert told(tmp_path, output) == said


def test_of_a_huge_output_the_end_is_told(tmp_path: Path) -> None:
    said = told(tmp_path, *[b"a line of the log\n" * 4096] * 30, b"no room on the disk\n")
    assert said.endswith("a line of the log no room on the disk")


def test_no_part_of_a_sequence_for_the_terminal_is_told(tmp_path: Path) -> None:
    said = told(tmp_path, b"\x1b[38;2;255;100;0mx\x1b[0m" * 1000)
    assert set(said) == {"x"}


@pytest.mark.parametrize(
    "output",
    [
        SECRET.encode(),
        f"{SECRET[:6]}\x1b[01;31m{SECRET[6:10]}\x1b[m{SECRET[10:]}".encode(),
        f"{SECRET[:6]}\x1b[K".encode() + SECRET[6:].encode() + b"\xff",
        # The beginning of the secret is not among the bytes that are kept.
        f"{SECRET}{' ' * (TAIL - 12)}\n".encode(),
        f"{SECRET}{' ' * (TAIL - 40)}no DNS\n".encode(),
    ],
)
def test_no_part_of_a_secret_is_told(tmp_path: Path, output: bytes) -> None:
    said = told(tmp_path, output)
    assert not any(SECRET[place : place + 6] in said for place in range(len(SECRET) - 5)), said
