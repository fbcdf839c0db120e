# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release job signs, publishes and attaches what was built, by its own commands; no secret is in an argument."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.ansible_run import BIN
from tests.support.zookeeper_server import HOST
from tools.version import version

ROOT = Path(__file__).resolve().parents[2]
JOB = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))["jobs"]["release"]
TOKEN = "token-for-galaxy"
NOTE_ARGUMENTS = """#!/bin/sh
printf '%s\\n' "$@" >>called
"""

pytestmark = pytest.mark.skipif(shutil.which("gpg") is None, reason="signing needs gpg")


@contextmanager
def galaxy() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that takes collections as Galaxy does: its address, and token and body of each upload."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        """Answers as much as ansible-galaxy asks for."""

        def do_GET(self) -> None:
            """The versions of the API, and the state of an import."""
            done = {"state": "completed", "started_at": "1", "finished_at": "2", "messages": [], "error": None}
            versions = {"available_versions": {"v3": "v3/"}, "current_version": "v3"}
            self.reply(done if "imports" in self.path else versions)

        def do_POST(self) -> None:
            """Take a collection."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Authorization"], body))
            self.reply({"task": "/api/v3/imports/collections/1/"})

        def reply(self, what: Any) -> None:
            """Send JSON."""
            body = json.dumps(what).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing on the screen."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_address[1]}/api/", got
        server.shutdown()


@pytest.fixture
def checkout(tmp_path, tarball):
    """A checkout after "make build", as far as the last steps need it."""
    (tmp_path / ".venv").symlink_to(BIN.parent)
    shutil.copytree(ROOT / "changelogs", tmp_path / "changelogs")
    for name in ("galaxy.yml", "CHANGELOG.md", "CHANGELOG.rst"):
        shutil.copy(ROOT / name, tmp_path)
    dist = tmp_path / ".build" / "dist"
    dist.mkdir(parents=True)
    shutil.copy(tarball, dist)
    return tmp_path


@pytest.fixture
def signing_key(tmp_path_factory) -> Iterator[str]:
    """A private key, made in a keyring that is gone then."""
    # The path of gpg's socket may not be long.
    ring = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, timeout=10, check=True).stdout.strip())
    try:
        gpg("--passphrase", "", "--quick-generate-key", "release@example.org", "ed25519", "sign", ring=ring)
        yield gpg("--armor", "--export-secret-keys", ring=ring).decode()
    finally:
        subprocess.run(["gpgconf", "--homedir", str(ring), "--kill", "all"], timeout=60, check=False)
        shutil.rmtree(ring, ignore_errors=True)


def gpg(*words: str, ring: Path) -> bytes:
    """What gpg writes."""
    done = subprocess.run(
        ["gpg", "--homedir", str(ring), "--batch", *words], capture_output=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def users_check_the_signature(dist: Path, environment: dict[str, str]) -> None:
    """By the commands of the page; a changed file and another signature are refused."""
    page = (ROOT / "docs" / "releasing.md").read_text("utf-8")
    commands = page.split("## Checking one", 1)[1].split("```shell\n", 1)[1].split("```", 1)[0]
    commands = commands.replace("1.2.3", version())
    own = {
        **environment,
        "PATH": f"{BIN}:{environment['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(dist / "collections"),
        "ANSIBLE_LOCAL_TEMP": str(dist / "temporary"),
    }

    def run(text: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=dist,
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    code, said = run(commands)
    assert code == 0 and "was installed successfully" in said, said
    assert "Successfully verified that checksums for 'stackci.nodepool" in said, said
    verify = "ansible-galaxy collection verify" + commands.rpartition("ansible-galaxy collection verify")[2]
    (dist / "collections" / "ansible_collections" / "stackci" / "nodepool" / "README.md").write_text("changed", "utf-8")
    code, said = run(verify)
    assert code != 0 and "README.md" in said, said
    shutil.rmtree(dist / "collections")
    (dist / "MANIFEST.json.asc").write_bytes(next(dist.glob("*.tar.gz.asc")).read_bytes())
    code, said = run(commands)
    assert code != 0 and "Signature verification failed" in said, said


def test_the_last_steps_sign_publish_and_attach(checkout, signing_key):
    stubs = checkout / "stubs"
    stubs.mkdir()
    (stubs / "gh").write_text(NOTE_ARGUMENTS)
    (stubs / "gh").chmod(0o755)
    ring = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, timeout=10, check=True).stdout.strip())
    steps = {step["name"]: step for step in JOB["steps"] if "name" in step}
    with galaxy() as (url, uploads):
        given = {
            "${{ secrets.SIGNING_KEY }}": signing_key,
            "${{ secrets.GALAXY_TOKEN }}": TOKEN,
            "${{ runner.temp }}/galaxy_token": str(checkout / "galaxy_token"),
        }
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
            "PATH": f"{stubs}:{os.environ['PATH']}",
            "GITHUB_REF_NAME": version(),
            "ANSIBLE_GALAXY_SERVER": url,
            "GNUPGHOME": str(ring),
            "HOME": str(checkout),
        }
        try:
            for name in ("The tag is the version", "Sign", "Publish", "Attach to the release"):
                own = {key: given.get(value, value) for key, value in steps[name].get("env", {}).items()}
                done = subprocess.run(
                    ["bash", "-e", "-o", "pipefail", "-c", steps[name]["run"]],
                    cwd=checkout,
                    env={**environment, **own},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=200,
                    check=False,
                )
                assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
            dist = checkout / ".build" / "dist"
            (tarball,) = dist.glob("*.tar.gz")
            gpg("--verify", f"{tarball}.asc", str(tarball), ring=ring)
            (dist / "release-key.asc").write_bytes(gpg("--armor", "--export", ring=ring))
            users_check_the_signature(dist, environment)
        finally:
            subprocess.run(["gpgconf", "--homedir", str(ring), "--kill", "all"], timeout=60, check=False)
            shutil.rmtree(ring, ignore_errors=True)
    checksum = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert (dist / "SHA256SUMS").read_text().split()[0] == checksum
    ((login, body),) = uploads
    assert TOKEN in login and checksum.encode() in body
    words = (checkout / "called").read_text().split()
    assert words[:3] == ["release", "create", version()]
    assert {Path(word).name for word in words if "dist/" in word} == {
        tarball.name,
        f"{tarball.name}.asc",
        "MANIFEST.json.asc",
        "SHA256SUMS",
    }
    assert "## Release Summary" in (checkout / "notes.md").read_text()


def test_no_step_has_a_secret_among_its_arguments():
    """Other processes of the machine see arguments."""
    for step in JOB["steps"]:
        secret = [name for name, value in step.get("env", {}).items() if "secrets." in value]
        # A shell makes a document of a word, and printf, by itself.
        lines = [line for line in step.get("run", "").splitlines() if "<<<" not in line and "printf " not in line]
        assert [(name, line) for name in secret for line in lines if f"${name}" in line] == []
        assert "secrets." not in step.get("run", "")
