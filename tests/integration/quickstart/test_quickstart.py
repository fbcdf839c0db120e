# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first hour: from clouds.yaml to a node of your own, from a checkout and from an installed tarball."""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import cloud_client
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.choosing import decide
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.prepare import private_zookeeper
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.wish import QuickstartWish
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.first_config import first_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.ansible_run import BIN, ROOT, SHORT_PATHS, command, environment
from tests.support.examples import lines_of
from tests.support.fixtures_zookeeper import eventually
from tests.support.other_user import OtherUser, other_users
from tests.support.simcloud_process import SimCloud, default_cloud

USER = pwd.getpwuid(os.getuid()).pw_name
IMAGES = [
    {"name": "ubuntu-24.04"},
    {"name": "Debian 12", "properties": {"os_distro": "debian", "os_version": "12", "os_admin_user": USER}},
]
_NAMES = (
    "ansible",
    "ansible_core",
    "[jJ]inja2",
    "yaml",
    "[pP]y[yY][aA][mM][lL]",
    "_yaml",
    "[mM]arkup[sS]afe",
    "resolvelib",
)
ANSIBLE_ALONE = [f"{name}{more}" for name in (*_NAMES, "packaging") for more in ("", "-[0-9]*.dist-info")]
ANSIBLE_ALONE += ["cryptography*", "*cffi*", "pycparser*"]
"""Patterns in site-packages of ansible-core and what it needs."""
NETWORKS = [{"name": "private"}, {"name": "lonely", "router": False}, {"name": "public", "external": True}]


class Newcomer:
    """Somebody with an entry in clouds.yaml, and the machine before them."""

    def __init__(self, folder: Path, cloud: SimCloud) -> None:
        self.cloud = cloud
        self.home = folder
        self.folder = folder / "nodepool-quickstart"
        self.config = self.folder / "nodepool.yaml"

    @property
    def notes(self) -> Notes:
        """What the quick start has noted."""
        return Notes.read(str(self.folder))

    def options(self, **more: Any) -> list[str]:
        """The command line."""
        variables = {
            "cloud": "mycloud",
            "nodepool_clouds_config": str(self.cloud.clouds_yaml),
            "quickstart_ssh_port": self.cloud.ssh_port("mycloud"),
            # An sshd that does not run as root cannot always give a terminal away.
            "ansible_ssh_use_tty": False,
            **more,
        }
        return ["-e", json.dumps(variables)]

    def play(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run the playbook from the checkout."""
        playbook = ROOT / "playbooks" / "quickstart.yml"
        return command(
            "ansible-playbook", playbook, *self.options(**more), *words, folder=self.home, timeout=180, **SHORT_PATHS
        )

    def close(self) -> None:
        """End what a failed test left."""
        if self.notes.port:
            private_zookeeper(self.notes).remove()


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    boot = {"kind": "fixed", "value": 0.5}
    with SimCloud(default_cloud("mycloud", guests=True, images=IMAGES, networks=NETWORKS, boot=boot)) as cloud:
        made = Newcomer(tmp_path, cloud)
        try:
            yield made
        finally:
            made.close()


def fine(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def keypairs(cloud: SimCloud) -> int:
    return len([call for call in cloud.calls("mycloud") if call["kind"] == "POST /os-keypairs"])


@pytest.mark.long
def test_from_clouds_yaml_to_a_node_and_back(newcomer: Newcomer) -> None:
    shown = fine(newcomer.play(quickstart_command="echo I am $(whoami)"))
    assert f"The node said: I am {USER}" in shown
    assert f"-e state=absent -e nodepool_clouds_config={newcomer.cloud.clouds_yaml}" in shown
    text = newcomer.config.read_text("utf-8")
    assert "image-name: Debian 12" in text and "networks: [private]" in text and "flavor-name: small" in text
    assert newcomer.cloud.servers("mycloud") == []
    assert not (newcomer.folder / "known_hosts").exists()
    assert (newcomer.folder / "id_ed25519").stat().st_mode & 0o777 == 0o600

    again = fine(newcomer.play())
    assert newcomer.config.read_text("utf-8") == text and "Linux" in again
    assert keypairs(newcomer.cloud) == 1, "nothing is made twice"

    newcomer.config.write_text(f"{text}# mine\n", encoding="utf-8")
    assert "yours, used as it is" in fine(newcomer.play())
    refused = newcomer.play(quickstart_flavor="large")
    assert refused.returncode != 0 and "you have changed this file" in refused.stdout
    newcomer.config.write_text(text, encoding="utf-8")

    fine(newcomer.play(state="stopped"))
    assert not private_zookeeper(newcomer.notes).answers()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", newcomer.notes.port))
        other.listen()
        busy = newcomer.play(state="started")
    assert busy.returncode != 0 and f"which zookeeper-servers in {newcomer.config} names" in busy.stdout
    fine(newcomer.play(state="started"))
    assert private_zookeeper(newcomer.notes).answers()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of an agent with more keys than a server lets anybody try, and none that a node knows."""
    socket_of, home = Path(tempfile.mkdtemp(prefix="agent-")) / "s", {"HOME": str(tmp_path)}
    variables = {"SSH_AUTH_SOCK": str(socket_of)}
    running = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket_of)], stdout=subprocess.DEVNULL)
    try:
        eventually(socket_of.exists, seconds=30)
        for number in range(7):
            key = tmp_path / f"key{number}"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=30)
            subprocess.run(
                ["ssh-add", "-q", key],
                env={**os.environ, **home, **variables},
                check=True,
                timeout=30,
                stdin=subprocess.DEVNULL,
            )
        yield variables
    finally:
        running.kill()
        running.wait()
        shutil.rmtree(socket_of.parent)


@pytest.mark.long
def test_what_it_prints_can_be_typed_also_with_blanks_and_many_keys(tmp_path: Path, agent: dict[str, str]) -> None:
    home = tmp_path / "new comer"
    home.mkdir()
    boot = {"kind": "fixed", "value": 0.5}
    with SimCloud(default_cloud("mycloud", guests=True, images=IMAGES, networks=NETWORKS, boot=boot)) as cloud:
        newcomer = Newcomer(home, cloud)
        clouds = home / "my clouds.yaml"
        clouds.write_text(cloud.clouds_yaml.read_text("utf-8"), encoding="utf-8")
        folder = {"quickstart_folder": str(newcomer.folder), "nodepool_clouds_config": str(clouds)}
        try:
            playbook = ROOT / "playbooks" / "quickstart.yml"
            ran = command(
                "ansible-playbook",
                playbook,
                *newcomer.options(**folder),
                folder=home,
                timeout=180,
                **SHORT_PATHS,
                **agent,
            )
            lines = dict(re.findall(r'"(Keep a node|Log in to it|Release it|Remove all): +(.*)"', fine(ran)))

            def type_in(what: str, more: str = "") -> str:
                variables = {**environment(home, **SHORT_PATHS, **agent), "ANSIBLE_PYTHON_INTERPRETER": "auto"}
                ran = subprocess.run(
                    ["bash", "-c", lines[what] + more],
                    cwd=tmp_path,
                    env=variables,
                    capture_output=True,
                    text=True,
                    timeout=180,
                    check=False,
                )
                return fine(ran)

            assert lines["Keep a node"] == "~/nodepool-quickstart/nodepoolctl lease mine debian-12 --launch"
            assert "debian-12" in type_in("Keep a node")
            assert type_in("Log in to it", " echo I am '$(whoami)'") == f"I am {USER}\n"
            type_in("Release it")
            assert cloud.servers("mycloud") == []
            type_in("Remove all")
            assert not newcomer.folder.exists()
        finally:
            newcomer.close()


@pytest.mark.long
def test_absent_removes_everything_also_a_node_that_is_still_leased(newcomer: Newcomer) -> None:
    fine(newcomer.play())
    more = ["-e", f"nodepool_config={newcomer.config}", "-e", "nodes_labels=debian-12", "-e", "nodes_launch=true"]
    more += ["-e", f"nodepool_clouds_config={newcomer.cloud.clouds_yaml}", "-e", "ansible_ssh_use_tty=false"]
    key = newcomer.folder / "id_ed25519"
    nodes = ROOT / "playbooks" / "nodes.yml"
    more += ["-e", f"nodes_private_key={key}"]
    fine(command("ansible-playbook", nodes, *more, folder=newcomer.home, timeout=120, **SHORT_PATHS))
    assert len(newcomer.cloud.servers("mycloud")) == 1
    server = private_zookeeper(newcomer.notes)
    (newcomer.folder / "mine.txt").write_text("kept")

    planned = fine(newcomer.play("--check", state="absent"))
    assert "the private ZooKeeper on port" in planned and len(newcomer.cloud.servers("mycloud")) == 1
    assert '"node 0000000001"' in planned and str(key) in planned, "somebody may be at work on it"
    assert "the private ZooKeeper would be stopped" in fine(newcomer.play("--check", state="stopped"))
    assert '"node 0000000001"' in fine(newcomer.play("--check", state="absent")), "it was not stopped"
    fine(newcomer.play(state="absent"))
    assert newcomer.cloud.servers("mycloud") == []
    assert newcomer.cloud.state("mycloud")["floating_ips"] == 0
    assert server.pids() == []
    assert os.listdir(newcomer.folder) == ["mine.txt"]
    fine(newcomer.play(state="absent"))


@pytest.mark.parametrize("routed", [True, False])
def test_a_network_with_ipv6_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, routed: bool) -> None:
    """The cloud's answers are read; whether this machine has a way to IPv6 depends on the machine."""
    monkeypatch.setattr(cloud_client, "has_routed_ipv6", lambda: routed)
    networks = [{"name": "six", "ipv4": False, "cidr6": "2001:db8:6::/64"}, {"name": "public", "external": True}]
    with SimCloud(default_cloud("mycloud", images=IMAGES, networks=networks)) as cloud:
        wish = QuickstartWish(cloud="mycloud", folder=str(tmp_path), clouds_config=str(cloud.clouds_yaml))
        if not routed:
            with pytest.raises(ConfigError, match="no subnet of IPv4 is there"):
                decide(wish, Notes(wish.folder))
            return
        plan = decide(wish, Notes(wish.folder))
        text = first_config(plan)
        assert "networks: [six]  # it has only IPv6" in text and "auto-floating-ip: false" in text
        calls = [call["kind"] for call in cloud.calls("mycloud")]
        assert calls.count("GET /subnets") == 1
        again = decide(wish, Notes.read(wish.folder))
        assert again.group.name == plan.group.name, "the group that was made lets ssh in over IPv6"


def interrupt(newcomer: Newcomer, when: Callable[[], object], **more: Any) -> str:
    """Type Ctrl-C in the terminal of the playbook as soon as that is true; return what was on the screen."""
    playbook = ROOT / "playbooks" / "quickstart.yml"
    shown = newcomer.home / "shown"
    with shown.open("w", encoding="utf-8") as out:
        running = subprocess.Popen(
            [str(BIN / "ansible-playbook"), str(playbook), *newcomer.options(**more)],
            cwd=newcomer.home,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment(newcomer.home, **SHORT_PATHS),
            start_new_session=True,
        )
    try:
        eventually(when, seconds=90)
    finally:
        os.killpg(running.pid, signal.SIGINT)
        running.wait(60)
    return shown.read_text("utf-8")


@pytest.mark.parametrize("afterwards", ["again", "absent"])
def test_after_an_interruption_it_has_said_how_to_delete_the_node_and_that_works(
    newcomer: Newcomer, afterwards: str
) -> None:
    # Not the headline of the task: it is shown before anything runs, and an interruption during a fork may be lost.
    begun = newcomer.home / "begun"
    said = interrupt(newcomer, begun.exists, quickstart_command=f"touch {begun} && sleep 60")
    assert len(newcomer.cloud.servers("mycloud")) == 1
    assert "it stays in the cloud" in said and "-e cloud=mycloud -e state=absent" in said
    fine(newcomer.play() if afterwards == "again" else newcomer.play(state="absent"))
    assert newcomer.cloud.servers("mycloud") == []


@pytest.mark.parametrize("stage", ["security group", "ZooKeeper", "boot"])
def test_an_interruption_at_any_stage_leaves_nothing_that_absent_does_not_remove(
    newcomer: Newcomer, stage: str
) -> None:
    newcomer.cloud.settings("mycloud", boot=60.0)

    def made(kind: str) -> bool:
        return any(call["kind"] == kind for call in newcomer.cloud.calls("mycloud"))

    reached: dict[str, Callable[[], object]] = {
        "security group": lambda: made("POST /security-groups"),
        "ZooKeeper": lambda: newcomer.notes.port and private_zookeeper(newcomer.notes).pids(),
        "boot": lambda: newcomer.cloud.servers("mycloud"),
    }
    said = interrupt(newcomer, reached[stage])
    # What was said last, some tenths of a second before the interruption, may be lost.
    assert "User interrupted execution" in said
    assert "-e state=absent removes all" in said or stage == "security group"
    server = private_zookeeper(newcomer.notes)
    fine(newcomer.play(state="absent"))
    state = newcomer.cloud.state("mycloud")
    assert newcomer.cloud.servers("mycloud") == [] and state["floating_ips"] == state["ports"] == 0
    assert not newcomer.folder.exists() and server.pids() == []


def test_what_is_ambiguous_or_missing_is_told_with_the_variable(newcomer: Newcomer, tmp_path: Path) -> None:
    expired = tmp_path / "expired.yaml"
    entry = yaml.safe_load(newcomer.cloud.clouds_yaml.read_text("utf-8"))["clouds"]["mycloud"]
    entry["auth"] = {"auth_url": entry["auth"]["auth_url"]}
    entry["auth"] |= {"application_credential_id": "5c", "application_credential_secret": "hidden-secret"}
    document = {"clouds": {"mycloud": {**entry, "auth_type": "v3applicationcredential"}}}
    expired.write_text(yaml.safe_dump(document), encoding="utf-8")
    for more, told in (
        ({"cloud": "nocloud"}, "nocloud"),
        ({"nodepool_clouds_config": str(expired)}, "(openstack application credential create NAME)"),
        ({"quickstart_network": "lonely"}, "no router connects it to an external network"),
        ({"quickstart_image": "debian"}, "correct quickstart_image"),
        ({"quickstart_public_key": "none.pub"}, "the public key cannot be read"),
    ):
        ran = newcomer.play(**more, quickstart_folder=str(tmp_path / "other"))
        assert ran.returncode != 0 and told in ran.stdout, ran.stdout
        assert "Traceback" not in ran.stdout and "hidden-secret" not in ran.stdout
    assert newcomer.cloud.servers("mycloud") == []


@pytest.fixture
def homeless(newcomer: Newcomer) -> OtherUser:
    """A user whose home directory does not exist, and who may write where the newcomer may."""
    found = other_users()
    if isinstance(found, str):
        pytest.skip(found)
    user = found[0]
    newcomer.cloud.state_dir.chmod(0o755)
    newcomer.cloud.clouds_yaml.chmod(0o644)
    return user


@pytest.mark.long
def test_without_a_home_directory_that_can_be_written(newcomer: Newcomer, homeless: OtherUser) -> None:
    """With the variables that README names, each with a folder."""
    place = Path(tempfile.mkdtemp(prefix="homeless-"))
    named = re.findall("`(ANSIBLE_[A-Z_]+)`", (ROOT / "README.md").read_text("utf-8"))
    folders = {name: str(place / name) for name in named}
    assert set(folders) == {"ANSIBLE_HOME", "ANSIBLE_REMOTE_TMP"}
    folder = place / "quickstart"
    homeless.give(place)

    def play(**more: Any) -> str:
        variables = newcomer.options(quickstart_folder=str(folder), **more)
        ran = subprocess.run(
            [str(BIN / "ansible-playbook"), str(ROOT / "playbooks" / "quickstart.yml"), *variables],
            cwd=place,
            env=environment(Path("/nonexistent"), **SHORT_PATHS, **folders),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
            **homeless.as_process(),
        )
        return fine(ran)

    try:
        assert "The node said" in play()
    finally:
        play(state="absent")
        shutil.rmtree(place)


def test_two_at_once_make_one_of_everything(newcomer: Newcomer) -> None:
    with ThreadPoolExecutor() as pool:
        for ran in pool.map(lambda _number: newcomer.play(), range(2)):
            fine(ran)
    assert keypairs(newcomer.cloud) == 1
    fine(newcomer.play(state="absent"))
    assert newcomer.cloud.servers("mycloud") == [] and not newcomer.folder.exists()


def test_with_a_group_of_ones_own_none_is_made(newcomer: Newcomer) -> None:
    shown = fine(newcomer.play(quickstart_group="default"))
    assert "The node said" in shown and "creating security group" not in shown
    assert "security-groups" not in newcomer.config.read_text("utf-8")


def test_check_mode_shows_the_configuration_and_makes_nothing(newcomer: Newcomer) -> None:
    shown = fine(newcomer.play("--check"))
    assert "image-name: Debian 12" in shown
    assert not newcomer.folder.exists() and keypairs(newcomer.cloud) == 0


@pytest.mark.long
def test_from_an_installed_tarball_with_nothing_but_what_it_asks_for(
    newcomer: Newcomer, tmp_path: Path, tarball: Path
) -> None:
    """README's two commands. An empty environment is lent Ansible alone at first, then what the message names."""
    galaxy, collections = BIN / "ansible-galaxy", tmp_path / "collections"
    run: dict[str, Any] = {
        "cwd": tmp_path,
        "env": environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(collections)),
        "timeout": 180,
        "capture_output": True,
    }
    subprocess.run([galaxy, "collection", "install", tarball, "--offline", "-p", collections], check=True, **run)
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    theirs = Path(next(path for path in sys.path if path.endswith("site-packages")))
    for pattern in ANSIBLE_ALONE:
        for path in theirs.glob(pattern):
            if not (site / path.name).is_symlink():
                (site / path.name).symlink_to(path)

    given = [line for line in lines_of("README.md") if line.startswith("ansible-playbook stackci.nodepool.quickstart")]
    first, absent = (shlex.split(line, comments=True)[1:] for line in given)

    def play(line: list[str]) -> subprocess.CompletedProcess[str]:
        words = [str(python), "-m", "ansible", "playbook", *newcomer.options(), *line]
        variables = environment(tmp_path, ANSIBLE_COLLECTIONS_PATH=str(collections), **SHORT_PATHS)
        variables.pop("ANSIBLE_PYTHON_INTERPRETER")
        return subprocess.run(
            words, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=180, check=False
        )

    missing = play(first)
    assert missing.returncode != 0
    assert f"has no asyncssh, jsonschema, kazoo, openstacksdk. Run: {python} -m pip install" in missing.stdout
    (site / "lent.pth").write_text(f"{theirs}\n")
    assert "The node said: Linux" in fine(play(first))
    fine(play(absent))
    assert newcomer.cloud.servers("mycloud") == [] and not newcomer.folder.exists()
