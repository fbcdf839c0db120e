# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepoolctl as a process, against a real ZooKeeper."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.request.conftest import Site
from tests.support.ansible_run import BIN, ROOT
from tests.support.command import nodepoolctl, surroundings, words_of
from tests.support.fixtures_zookeeper import eventually


@pytest.fixture
def ctl(site: Site):
    def run(line: str, **more):
        return nodepoolctl(*line.split(), folder=site.folder, config=site.config, **more)

    return run


def test_a_lease_from_a_shell(site: Site, ctl) -> None:
    site.launcher.register("small", "large")
    site.launcher.work()
    leased = ctl("lease web small large --expires 900")
    assert leased.returncode == 0, leased.stderr
    assert leased.stdout.splitlines()[1].startswith("| ID         | Label | Address   | Port | Username |")
    assert "all 2 nodes ready" in leased.stderr
    again = ctl("lease web small large -o json")
    assert (again.returncode, json.loads(again.stdout)["changed"]) == (0, False)
    ids = ctl("list -o id").stdout.split()
    assert ids == [node["id"] for node in json.loads(again.stdout)["nodes"]]
    assert "| web  | small,large | 2      | 2    |" in ctl("leases").stdout
    shown = ctl("list --detail").stdout
    assert "| Hold Job" in shown and "lease web" in shown
    assert ctl(f"why {ids[0]}").stdout.startswith(f"node {ids[0]}")
    assert json.loads(ctl(f"why {ids[0]} -o json").stdout)["lives"][0]["id"] == ids[0]
    assert ctl("status").stdout.startswith("ATTENTION")
    refused = ctl(f"delete {ids[0]}")
    assert refused.returncode == 1 and "the name web" in refused.stderr and f"| {ids[0]} |" in refused.stdout
    longer = ctl("extend web --expires 1800 -o json")
    assert longer.returncode == 0, longer.stderr
    assert all(node["expires_at"] > time.time() + 1000 for node in json.loads(longer.stdout)["nodes"])
    released = ctl("release web")
    assert (released.returncode, released.stdout) == (0, "released\n")
    assert ctl("release web").stdout == "nothing to release\n"


def test_nodes_and_requests_by_hand(site: Site, ctl) -> None:
    site.launcher.register("small")
    node = site.launcher.node("small", None)
    held = ctl(f"hold {node} --comment debugging --expires 60")
    assert held.returncode == 0 and "| hold  |" in held.stdout and "| debugging |" in held.stdout
    assert ctl(f"unhold {node}").returncode == 0
    assert site.launcher.documents("nodes")[node]["state"] == "used"
    assert ctl("lease web small --no-wait").returncode == 0
    (request,) = ctl("requests -o id").stdout.split()
    assert ctl(f"why {request}").stdout.startswith(f"request {request}")
    assert ctl(f"cancel {request}").returncode == 1, "it belongs to a lease"
    late = ctl("lease web small --timeout 1 --cancel-on-timeout")
    assert late.returncode == 4 and late.stdout == "" and "not complete after 1 s" in late.stderr


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("list 0000000099", 3, "ZooKeeper has no node '0000000099'"),
        ("ssh nobody", 255, "there is no lease 'nobody'"),
        ("extend nobody --expires 60", 3, "nobody"),
        ("lease web smal", 3, "did you mean small"),
        ("list --pool nowhere", 3, "there is no pool"),
        ("list -c /nowhere/nodepool.yaml", 2, "/nowhere/nodepool.yaml: does not exist"),
        ("lease web small --priority 1000", 2, "priority is 1000"),
        ("lease web small --until 25:00", 2, "give a time such as '18:00'"),
        ("list", 1, "no launcher is registered in this tree"),
    ],
)
def test_failures_have_codes(line, code, said, site: Site, ctl) -> None:
    node = site.launcher.node("small", None)
    ended = ctl(line)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
    assert ended.stdout == "" or node in ended.stdout
    assert "Traceback" not in ended.stderr


def test_zookeeper_that_is_away_is_code_5(site: Site, ctl) -> None:
    site.config.write_text(
        "zookeeper-timeout: 1\nzookeeper-servers: [{host: 127.0.0.1, port: 1}]\nlabels: []\nproviders: []\n"
    )
    assert ctl("list").returncode == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_lease_is_given_back(number, site: Site) -> None:
    site.launcher.register("small")
    process = subprocess.Popen(
        words_of("lease", "web", "small"),
        cwd=site.folder,
        env=surroundings(site.folder, site.config),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        eventually(lambda: site.launcher.documents("requests"))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (128 + number, "")
    assert "lease web was released" in err
    assert site.launcher.documents("requests") == {} and site.launcher.documents("stackci/leases") == {}


def test_the_screen_at_a_terminal_until_ctrl_c(site: Site) -> None:
    site.launcher.register("small")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words_of("status", "--watch", "1"),
        cwd=site.folder,
        env=surroundings(site.folder, site.config, TERM="xterm", COLUMNS="70"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = bytearray()

    def read() -> None:
        with suppress(OSError):
            while chunk := os.read(ours, 4096):
                seen.extend(chunk)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        eventually(lambda: seen.count(b"PROVIDERS") >= 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        reader.join(5)
        os.close(ours)
    assert b"every 1 s until Ctrl-C" in seen and b"Traceback" not in seen


def shell(site: Site, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in bash, where ``ctl`` is the command."""
    return subprocess.run(
        ["bash", "-c", f'ctl() {{ {" ".join(words_of())} "$@"; }}\n{line}'],
        cwd=site.folder,
        env=surroundings(site.folder, site.config),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "line", ["list -o json", "list", "--help", "lease --help", "completion bash", "__complete hold ''", "status"]
)
def test_a_reader_that_has_seen_enough_ends_it_quietly(line: str, site: Site) -> None:
    site.launcher.register("small")
    # The reader is gone before the first line is written.
    done = shell(site, f"mkfifo pipe; ctl {line} >pipe & exec 3<pipe; exec 3<&-; wait $!; echo $?")
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_standard_output_that_is_closed_or_full(site: Site) -> None:
    site.launcher.register("small")
    closed = shell(site, "ctl list >&-; echo $?; ctl nonsense 2>&- -o json; echo $?")
    document, _newline, code = closed.stdout.removeprefix("0\n").rstrip().rpartition("\n")
    assert (closed.stderr, code, json.loads(document)["error_kind"]) == ("", "2", "ConfigError")
    full = shell(site, "ctl list >/dev/full; echo $?")
    assert full.stdout == "1\n" and "No space left" in full.stderr and "Traceback" not in full.stderr


def test_wrong_arguments_are_a_document_too(ctl) -> None:
    for line in ("hold -o json", "-o json frobnicate", "images --nonsense x --output=json"):
        ended = ctl(line)
        assert ended.returncode == 2 and json.loads(ended.stdout)["msg"] in ended.stderr
    assert ctl("hold").stdout == ""


def test_nodepools_verbs_for_images(site: Site, ctl) -> None:
    site.config.write_text(
        f"{site.config.read_text('utf-8')}\ndiskimages: [{{name: debian, elements: [vm]}}]\nimages-dir: {site.folder}\n"
    )
    row = "| debian | {:<6} | {:<13} |"
    assert "| Image" in ctl("image-status").stdout
    assert ctl("image-pause debian").stdout == "paused\n" and ctl("pause debian").stdout == "paused already\n"
    assert ctl("image-build debian").stdout == "asked for the build\n"
    assert row.format("True", "True") in ctl("image-status").stdout
    assert ctl("image-unpause debian").stdout == "no longer paused\n"
    assert ctl("dib-image-delete debian-0123").stdout.startswith("there is no such build")
    assert ctl("export-image-data images.json").returncode == 0 and (site.folder / "images.json").exists()
    assert ctl("erase nowhere").stdout == "nothing to erase\n"
    assert ctl("config-validate --offline").stdout == "the configuration is valid\n"


def test_names_complete_themselves(site: Site) -> None:
    site.launcher.register("small")
    site.launcher.work()
    assert nodepoolctl("lease", "web", "small", folder=site.folder, config=site.config).returncode == 0
    asked = nodepoolctl("__complete", "release", "", folder=site.folder, config=site.config)
    assert asked.stdout == "web\n"
    script = (
        f'nodepoolctl() {{ {" ".join(words_of())} "$@"; }}\n'
        'eval "$(nodepoolctl completion bash)"\n'
        "COMP_WORDS=(nodepoolctl ssh w) COMP_CWORD=2\n_nodepoolctl nodepoolctl w ssh\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        env=surroundings(site.folder, site.config),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "web\n", done.stderr


def test_setup_installs_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BIN / "nodepoolctl"), "--help"], cwd=tmp_path, capture_output=True, timeout=60, check=True
    )
    assert b"VERB" in done.stdout


@pytest.mark.parametrize("lines", [1, 3])
def test_the_playbooks_end_too_when_their_reader_has(lines: int, site: Site) -> None:
    site.launcher.register("small")
    playbook = ROOT / "playbooks" / "status.yml"
    done = shell(site, f"{BIN}/ansible-playbook {playbook} -e nodepool_config={site.config} | head -{lines} >/dev/null")
    assert done.returncode == 0, done.stderr
