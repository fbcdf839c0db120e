# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interpreter that has imported everything runs a program as the real one does."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ansible_run import ROOT, environment
from tests.support.fixtures_zookeeper import eventually
from tests.support.interrupts import heeded
from tests.support.warm_python import WarmPython, write_client

PROGRAM = """
import os, sys
print(sys.argv[1:], __name__, os.getcwd(), os.environ["MINE"], os.environ.get("THEIRS"))
"""


@pytest.fixture(scope="module")
def warm():
    with WarmPython(["json.tool"], environment(ROOT, THEIRS="of the server")) as made:
        yield made


def ran(python: Path | str, folder: Path, text: str, *words: str) -> tuple[int, str, str]:
    """Exit code, output, and the last line of the errors."""
    given = environment(folder, MINE="of the caller")
    done = subprocess.run(
        [str(python), *words],
        cwd=folder,
        env=given,
        input=text,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    return done.returncode, done.stdout, "".join(done.stderr.splitlines()[-1:])


@pytest.mark.parametrize("end", ["", "sys.argv = []", "sys.exit(3)", "sys.exit('what is wrong')", "1 / 0"])
def test_a_program_is_run_as_by_the_real_one(warm, tmp_path, end):
    text = PROGRAM + end
    assert ran(warm.path, tmp_path, text) == ran(sys.executable, tmp_path, text)
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    assert ran(warm.path, tmp_path, "", str(file), "word") == ran(sys.executable, tmp_path, "", str(file), "word")


def test_a_program_that_is_killed_says_so(warm, tmp_path):
    text = "import os; os.kill(os.getpid(), {})"
    for number in (signal.SIGTERM, signal.SIGKILL):
        assert ran(warm.path, tmp_path, text.format(int(number)))[0] == -number


def test_without_the_server_it_is_the_real_one(tmp_path):
    write_client(tmp_path / "python3", str(tmp_path / "none"), command=None, real=[sys.executable])
    assert ran(tmp_path / "python3", tmp_path, PROGRAM) == ran(sys.executable, tmp_path, PROGRAM)


ASLEEP = """
import os, signal, sys, time
def end(number, frame):
    print(number, flush=True)
    sys.exit(9)
signal.signal(signal.{0}, end)
print(os.getpid(), flush=True)
time.sleep(60)
"""


def begun(warm: WarmPython, folder: Path, name: str) -> tuple[subprocess.Popen[str], int]:
    """A program that waits for a signal, and the process id that it has said."""
    file = folder / "program.py"
    file.write_text(ASLEEP.format(name), encoding="utf-8")
    process = subprocess.Popen([warm.path, file], env=environment(folder), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM"])
def test_a_signal_reaches_the_program(warm, tmp_path, name):
    with heeded(signal.Signals[name]):
        process, pid = begun(warm, tmp_path, name)
    assert pid != process.pid
    process.send_signal(signal.Signals[name])
    out, _errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (9, f"{int(signal.Signals[name])}\n")


def test_who_kills_the_client_kills_the_program(warm, tmp_path):
    process, pid = begun(warm, tmp_path, "SIGTERM")
    process.kill()
    # Its standard output is closed as soon as it has ended.
    assert process.communicate(timeout=60)[0] == ""
    assert eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_it_has_the_mask_and_the_zone_of_the_caller(warm, tmp_path):
    file = tmp_path / "program.py"
    file.write_text("import os, time; print(oct(os.umask(0)), time.strftime('%H', time.localtime(0)))", "utf-8")
    words = ["sh", "-c", 'umask 027; exec "$0" "$1"', str(warm.path), str(file)]
    given = environment(tmp_path, TZ="Asia/Tokyo")
    done = subprocess.run(words, env=given, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0o27 09\n"
