# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read in /proc: of real processes, and of files that say what is rare."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import proc


@pytest.fixture
def child():
    """A process with a variable and an argument of its own."""
    process = subprocess.Popen(["sleep", "1000"], env={**os.environ, "PROC_TEST": "a=b", "PROC_TEST_2": "c"})
    yield process
    process.kill()
    process.wait(10)


def test_a_process_and_its_parent(child):
    seen, me = proc.process(child.pid), proc.process(os.getpid())
    assert seen is not None and me is not None
    assert (seen.pid, seen.parent, seen.group, seen.session) == (child.pid, os.getpid(), me.group, os.getsid(0))
    assert seen.started >= me.started > 0
    assert not seen.ended
    assert proc.processes()[child.pid] == seen


def test_what_it_was_started_with(child):
    # Until its program has begun it shows ours.
    while proc.arguments(child.pid) != ["sleep", "1000"]:
        assert child.poll() is None
    assert proc.variable(child.pid, "PROC_TEST") == "a=b"
    assert proc.variable(child.pid, "PROC") is None


def test_one_that_has_ended_is_there_until_its_parent_asks(child):
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    seen = proc.process(child.pid)
    assert seen is not None and seen.ended
    child.wait(10)
    assert proc.process(child.pid) is None
    assert proc.arguments(child.pid) == []
    assert proc.variable(child.pid, "PROC_TEST") is None


def test_a_program_may_be_named_like_the_fields(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_bytes(b"7 (a) Z 9 (b) ) S 1 2 3" + b" 0" * 15 + b" 42 0\n")
    assert proc.process(7, str(tmp_path)) == proc.Process(7, 1, 2, 3, 42)


@pytest.mark.parametrize("text", [b"", b"7 (a) S 1 2", b"7 (a) S x y z"])
def test_what_is_cut_off_is_no_process(tmp_path, text):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_bytes(text)
    assert proc.process(7, str(tmp_path)) is None
    assert proc.processes(str(tmp_path)) == {}


def test_too_many_open_files_is_no_answer():
    program = (
        "import resource\n"
        f"from {proc.__name__} import process\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n"
        "try:\n    process(1)\nexcept OSError as error:\n    print(error.errno)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "24\n"


def test_mount_points(tmp_path):
    assert "/" in proc.mount_points()
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_bytes(
        b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 8:2 / /a\\040b\\134c rw - ext4 /dev/sda2 rw\n\n"
    )
    assert proc.mount_points(str(tmp_path)) == ["/", "/a b\\c"]
    assert proc.mount_points(str(tmp_path / "none")) == []


def test_this_machine(tmp_path):
    assert len(proc.boot_id()) == 36
    assert proc.boot_id() == proc.boot_id()
    assert proc.pid_namespace().startswith("pid:[")
    assert (proc.boot_id(str(tmp_path)), proc.pid_namespace(str(tmp_path))) == ("", "")


@pytest.mark.parametrize(
    ("addresses", "routed"),
    [
        ((), False),
        (("00000000000000000000000000000001",), False),
        (("fe800000000000000000000000000001",), False),
        (("fe800000000000000000000000000001", "20010db8000000000000000000000001"), True),
        (("nonsense",), False),
    ],
)
def test_a_routed_address(tmp_path, addresses, routed):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "if_inet6").write_text("".join(f"{address} 02 40 00 80 eth0\n" for address in addresses))
    assert proc.has_routed_ipv6(str(tmp_path)) == routed


def test_a_machine_without_ipv6(tmp_path):
    assert not proc.has_routed_ipv6(str(tmp_path))
