# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runners for one job of GitHub and Forgejo, against a small server with the answers of their APIs.

GitHub: https://docs.github.com/en/rest/actions/self-hosted-runners (just-in-time configuration). Forgejo 15:
``POST …/actions/runners`` with ``ephemeral``, and ``forgejo-runner one-job``. The runners themselves are replaced by
scripts that take the same options.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.integration.ci.conftest import EXAMPLES, Pool
from tests.support.fixtures_zookeeper import eventually

PROGRAM = EXAMPLES / "runners" / "nodepool-runner"
TOKEN = "secret-token"
JIT, RUNNER_TOKEN = "encoded-jit-configuration", "runner-token-of-forgejo"
CREATE = {
    "/repos/ci/web/actions/runners/generate-jitconfig": "github",
    "/api/v1/repos/ci/web/actions/runners": "forgejo",
}
UUID = "d4637a60-7fea-4075-a81c-7e4ae01bdf0d"


class Forge(BaseHTTPRequestHandler):
    """The parts of both APIs that the program needs."""

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        forge = CREATE.get(self.path)
        if forge is None:
            self._answer(404, {"message": "Not Found"})
        elif self.headers["Authorization"] != f"{'Bearer' if forge == 'github' else 'token'} {TOKEN}":
            self._answer(401, {"message": "Bad credentials"})
        elif forge == "github" and not {"name", "runner_group_id", "labels"} <= {*given}:
            self._answer(422, {"message": "Invalid request"})
        else:
            self._made().append(given)
            answer = {"runner": {"id": 23, "name": given["name"], "status": "offline"}, "encoded_jit_config": JIT}
            self._answer(201, answer if forge == "github" else {"id": 23, "uuid": UUID, "token": RUNNER_TOKEN})

    def do_DELETE(self) -> None:
        known = re.fullmatch(r"(/api/v1)?/repos/ci/web/actions/runners/23", self.path)
        if known:
            self._deleted().append(self.path)
        self._answer(204 if known else 404, None)

    def log_message(self, *_unused: Any) -> None:
        """Say nothing."""

    def _made(self) -> list[Any]:
        return self.server.made  # type: ignore[attr-defined,no-any-return]

    def _deleted(self) -> list[Any]:
        return self.server.deleted  # type: ignore[attr-defined,no-any-return]

    def _answer(self, code: int, document: Any) -> None:
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def forge() -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    server.made, server.deleted = [], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def settings(ci: Pool, forge: Any, job: str) -> dict[str, str]:
    token = ci.folder / "token"
    token.write_text(f"{TOKEN}\n")
    runner = ci.folder / "runner"
    runner.write_text(f'#!/bin/bash\necho "runner: $*"\n{job}\n')
    runner.chmod(0o755)
    return {
        "RUNNER_API": f"http://127.0.0.1:{forge.server_address[1]}",
        "RUNNER_SCOPE": "repos/ci/web",
        "RUNNER_TOKEN_FILE": str(token),
        "RUNNER_LABELS": "debian-12,large",
        "RUNNER_COMMAND": str(runner),
        "NODEPOOL_LABEL": "debian-12",
    }


def test_a_runner_of_github_does_one_job(ci: Pool, forge: Any) -> None:
    code, out = ci.run(PROGRAM, "github", env=settings(ci, forge, "exit 0"))
    assert code == 0, out
    (made,) = forge.made
    assert (made["labels"], made["runner_group_id"], made["work_folder"]) == (["debian-12", "large"], 1, "_work")
    assert f"runner: --jitconfig {JIT}" in out
    assert TOKEN not in out
    assert ci.leases() == []


def test_a_runner_of_forgejo_does_one_job(ci: Pool, forge: Any) -> None:
    options = settings(ci, forge, 'cat "$(echo "$*" | sed "s/.*file:\\([^ ]*\\).*/\\1/")"')
    code, out = ci.run(PROGRAM, "forgejo", env={**options, "RUNNER_LABELS": "debian-12:host"})
    assert code == 0, out
    (made,) = forge.made
    assert made["ephemeral"] is True
    assert f"runner: one-job --url {options['RUNNER_API']} --token-url file:" in out
    assert f"--wait --uuid {UUID} --label debian-12:host" in out and out.rstrip().endswith(RUNNER_TOKEN), out
    assert ci.leases() == []


def test_a_job_that_fails_gives_the_node_back(ci: Pool, forge: Any) -> None:
    assert ci.run(PROGRAM, "github", env=settings(ci, forge, "exit 7"))[0] == 7
    assert forge.deleted and ci.leases() == []


def test_a_forge_that_refuses_gives_the_node_back(ci: Pool, forge: Any) -> None:
    options = {**settings(ci, forge, "exit 0"), "RUNNER_SCOPE": "repos/ci/unknown"}
    code, out = ci.run(PROGRAM, "github", env=options)
    assert code != 0 and "404" in out and ci.leases() == []
    assert 'did not register a runner: {"message": "Not Found"}' in out, "what the forge says is the reason"


@pytest.mark.parametrize("kind", ["github", "forgejo"])
def test_blanks_and_slashes_around_values_do_not_matter(kind: str, ci: Pool, forge: Any) -> None:
    options = settings(ci, forge, "exit 0")
    changed = {"RUNNER_API": f"{options['RUNNER_API']}/", "RUNNER_SCOPE": "/repos/ci/web/"}
    changed["RUNNER_LABELS"] = " debian-12, large"
    (ci.folder / "token").write_text(f"{TOKEN} \r\n")
    code, out = ci.run(PROGRAM, kind, env={**options, **changed})
    assert code == 0, out
    (made,) = forge.made
    assert kind != "github" or made["labels"] == ["debian-12", "large"]
    assert ci.leases() == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("RUNNER_API", "", "RUNNER_API: set it"),
        ("RUNNER_LABELS", "", "RUNNER_LABELS: set it"),
        ("NODEPOOL_LABEL", "", "NODEPOOL_LABEL: set it"),
        ("RUNNER_TOKEN_FILE", "/nowhere/token", "RUNNER_TOKEN_FILE: /nowhere/token cannot be read, or is empty"),
    ],
)
def test_what_is_not_set_is_told_before_a_node_is_leased(
    name: str, value: str, told: str, ci: Pool, forge: Any
) -> None:
    code, out = ci.run(PROGRAM, "github", env={**settings(ci, forge, "exit 0"), name: value})
    assert code == 2 and told in out, out
    assert ci.site.cloud.calls("POST /servers") == []


def test_a_stopped_service_gives_the_node_back(ci: Pool, forge: Any) -> None:
    with ci.popen(PROGRAM, "github", env=settings(ci, forge, "exec sleep 600")) as process:
        eventually(lambda: forge.made, 60.0)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 143
    assert forge.deleted == ["/repos/ci/web/actions/runners/23"] and ci.leases() == []


def test_a_killed_service_loses_its_node_when_the_lease_expires(ci: Pool, forge: Any) -> None:
    options = {**settings(ci, forge, "exec sleep 600"), "NODEPOOL_EXPIRES": "6"}
    with ci.popen(PROGRAM, "github", env=options) as process:
        eventually(lambda: forge.made, 60.0)
        ci.kill(process)
    assert ci.empty()
