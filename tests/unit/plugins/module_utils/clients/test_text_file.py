# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which reading a file can fail is a sentence with its path."""

from __future__ import annotations

import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import text_file
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def unused(_seconds: float) -> None:
    raise AssertionError("nothing to wait for")


def refused(path: str) -> str:
    with pytest.raises(ConfigError) as caught:
        text_file.read_text(path, unused)
    return str(caught.value)


def test_text_with_and_without_a_byte_order_mark(tmp_path):
    file = tmp_path / "a"
    for data in ("é: 1\n".encode(), b"\xef\xbb\xbf" + "é: 1\n".encode()):
        file.write_bytes(data)
        assert text_file.read_text(str(file), unused) == "é: 1\n"


def test_a_file_that_is_replaced_meanwhile_is_waited_for(tmp_path):
    file, slept = tmp_path / "a", []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == text_file.RETRIES:
            file.write_text("there")

    assert text_file.read_text(str(file), sleep) == "there"
    assert slept == [text_file.RETRY_AFTER] * text_file.RETRIES


def test_a_missing_file_is_not_waited_for_for_ever(tmp_path):
    slept: list[float] = []
    with pytest.raises(ConfigError, match="does not exist"):
        text_file.read_text(str(tmp_path / "a"), slept.append)
    assert len(slept) == text_file.RETRIES


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a directory" in refused(str(tmp_path))
    assert "is not a regular file" in refused(str(tmp_path / "pipe"))
    assert "is not a path" in refused("a\0b")
    (tmp_path / "plain").touch()
    assert "cannot be read: Not a directory" in refused(str(tmp_path / "plain" / "below"))


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"a: 1\nb: \xff\n")
    assert refused(str(file)).startswith(f"{file}:2: is not UTF-8 text (byte 8)")


def test_a_file_that_is_far_too_large(tmp_path):
    file, largest = tmp_path / "a", text_file.LARGEST_FILE
    file.touch()
    os.truncate(file, largest)
    assert len(text_file.read_text(str(file), unused)) == largest
    os.truncate(file, largest + 1)
    assert "is larger than 32 MiB" in refused(str(file))
    assert len(text_file.read_text(str(file), unused, 2 * largest)) == largest + 1
