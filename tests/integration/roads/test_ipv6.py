# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A leased node that has an address of IPv6 alone, and another port than 22: each way to it is a real login."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.roads.conftest import Pool
from tests.support.ansible_run import BIN
from tests.support.fixtures_zookeeper import eventually

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
ADDRESS = "::1"


def listens(port: int) -> bool:
    try:
        socket.create_connection((ADDRESS, port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def six(ci: Pool) -> Iterator[tuple[int, str]]:
    """An sshd on the loopback address of IPv6: its port and its host key."""
    try:
        with socket.create_server((ADDRESS, 0), family=socket.AF_INET6) as probe:
            port = probe.getsockname()[1]
    except OSError:
        pytest.skip("this machine has no IPv6")
    key = ci.folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
    config = ci.folder / "sshd_config"
    config.write_text(
        f"ListenAddress [{ADDRESS}]:{port}\nHostKey {key}\nAuthorizedKeysFile {ci.key}.pub\nStrictModes no\n"
        f"PidFile none\nUsePAM no\nPermitRootLogin yes\nSubsystem sftp internal-sftp\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL) as running:
        try:
            eventually(lambda: listens(port), 30)
            yield port, " ".join(key.with_suffix(".pub").read_text().split()[:2])
        finally:
            running.terminate()


def leased(ci: Pool, port: int, host_key: str) -> str:
    """Lease a node, and give its record what a cloud with IPv6 alone gives it; return its id."""
    code, out = ci.run("nodepoolctl", "lease", "mine", "debian-12")
    assert code == 0, out
    (node_id,) = ci.site.requestor.nodes()
    six = {"interface_ip": ADDRESS, "public_ipv6": ADDRESS, "public_ipv4": None, "private_ipv4": None}
    ci.site.requestor.write_node(node_id, **six, connection_port=port, host_keys=[host_key])
    return str(node_id)


def test_a_lease_is_reached_by_ipv6_alone(ci: Pool, six: tuple[int, str]) -> None:
    port, host_key = six
    node_id = leased(ci, port, host_key)
    files = {name: ci.folder / name for name in ("known_hosts", "ssh_config", "inventory.yml")}
    words: list[str | Path] = ["--known-hosts", files["known_hosts"], "--ssh-config", files["ssh_config"]]
    words += ["--inventory", files["inventory.yml"], "--private-key", ci.key]
    code, out = ci.run("nodepoolctl", "lease", "mine", "debian-12", *words)
    assert code == 0 and f"| {ADDRESS} " in out, out
    assert files["known_hosts"].read_text().splitlines()[-1] == f"[{ADDRESS}]:{port} {host_key}"

    me = getpass.getuser()
    for line in (
        f"nodepoolctl ssh {node_id} whoami",
        "nodepoolctl ssh mine whoami",
        f"ssh -F ssh_config np{node_id} whoami",
        f"ssh -F ssh_config {ADDRESS} whoami",
    ):
        code, out = ci.run("bash", "-c", line)
        assert code == 0 and out.split()[-1] == me, f"{line}: {out}"
    code, out = ci.run(BIN / "ansible", "leased_nodes", "-i", files["inventory.yml"], "-m", "raw", "-a", "whoami")
    assert code == 0 and me in out.split(), out
    code, out = ci.run("nodepoolctl", "list")
    assert code == 0 and f"| {ADDRESS} " in out, out
    assert ci.run("nodepoolctl", "release", "mine")[0] == 0


def test_the_modules_result_is_enough_for_add_host(ci: Pool, six: tuple[int, str]) -> None:
    leased(ci, *six)
    play = ci.folder / "play.yml"
    play.write_text(f"""
- hosts: localhost
  gather_facts: false
  tasks:
    - stackci.nodepool.nodepool_request:
        name: mine
        labels: [debian-12]
        config: {ci.site.config}
        known_hosts: {ci.folder}/known_hosts
        private_key: {ci.key}
      register: lease
    - ansible.builtin.add_host:
        name: "{{{{ item.hostname }}}}"
        groups: leased
        ansible_host: "{{{{ item.address }}}}"
        ansible_port: "{{{{ item.port }}}}"
        ansible_user: "{{{{ item.user }}}}"
        ansible_ssh_private_key_file: {ci.key}
        ansible_ssh_common_args: "{{{{ item.ssh_arguments }}}}"
      loop: "{{{{ lease.nodes }}}}"
- hosts: leased
  gather_facts: false
  tasks:
    - ansible.builtin.raw: echo came by $SSH_CONNECTION
      register: said
    - ansible.builtin.debug:
        var: said.stdout
""")
    code, out = ci.run("ansible-playbook", play)
    assert code == 0 and f"came by {ADDRESS} " in out, out
    assert ci.run("nodepoolctl", "release", "mine")[0] == 0
