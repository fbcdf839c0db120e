# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nginx and Apache in front of the service, configured by the snippets of docs/web.md."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import Visitors
from tests.support.ansible_run import ROOT
from tests.support.fixtures_zookeeper import eventually
from tests.support.web_service import Answer, running, write_config
from tests.support.zookeeper_server import HOST, free_port

USER, PASSWORD = "operator", "correct horse"
NAME = "nodepool.example.org"
MODULES = Path("/usr/lib/apache2/modules")
APACHE_MODULES = (
    "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "deflate", "filter", "proxy",
    "proxy_http", "socache_shmcb", "ssl",
)  # fmt: skip


class Proxy:
    """A proxy that is running.

    :param port: where it speaks TLS.
    :param certificate: its own, which is the only one that is trusted.
    """

    def __init__(self, port: int, certificate: Path) -> None:
        self._port = port
        self._trust = ssl.create_default_context(cafile=certificate)
        self._trust.check_hostname = False

    def ask(self, path: str, method: str = "GET", *, known: bool = True, **headers: str) -> Answer:
        """One request, with the password or without."""
        word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if known:
            sent["Authorization"] = f"Basic {word}"
        connection = http.client.HTTPSConnection(HOST, self._port, timeout=60, context=self._trust)
        try:
            connection.request(method, path, headers={"Host": NAME, **sent})
            answer = connection.getresponse()
            return Answer(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()


def snippet(language: str, changes: Mapping[str, str]) -> str:
    """The configuration that docs/web.md shows for a proxy, with this test's addresses and files.

    :param changes: what must be in it → what stands there instead.
    """
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    for old, new in changes.items():
        assert old in found, f"{old!r} is not in the snippet for {language}"
        found = found.replace(old, new)
    return str(found)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate and its key."""
    paths = folder / "proxy.pem", folder / "proxy.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-out", paths[0], "-keyout", paths[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return paths


def passwords(folder: Path) -> Path:
    """A file as htpasswd makes it."""
    path = folder / "htpasswd"
    word = base64.b64encode(hashlib.sha1(PASSWORD.encode(), usedforsecurity=False).digest()).decode()
    path.write_text(f"{USER}:{{SHA}}{word}\n", encoding="utf-8")
    return path


def nginx_text(folder: Path, port: int, service: int) -> str:
    """A whole configuration around the snippet; gzip as Debian switches it on."""
    pem, key = certificate(folder)
    changes = {
        "listen 443 ssl": f"listen {HOST}:{port} ssl",
        "/etc/ssl/nodepool.example.org.pem": str(pem),
        "/etc/ssl/nodepool.example.org.key": str(key),
        "/etc/nginx/nodepool.htpasswd": str(passwords(folder)),
        "127.0.0.1:8005": f"127.0.0.1:{service}",
    }
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    kept = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root root;" if os.geteuid() == 0 else ""  # its workers read the passwords in this folder
    return (
        f"daemon off; {user} pid {folder}/pid; error_log stderr; worker_processes 1;\nevents {{}}\n"
        f"http {{ access_log off; gzip on; gzip_types text/plain; {kept}\n{snippet('nginx', changes)}}}\n"
    )


def apache_text(folder: Path, port: int, service: int) -> str:
    """A whole configuration around the snippet; compression as Debian switches it on."""
    pem, key = certificate(folder)
    changes = {
        "*:443": f"{HOST}:{port}",
        "/etc/ssl/nodepool.example.org.pem": str(pem),
        "/etc/ssl/nodepool.example.org.key": str(key),
        "/etc/apache2/nodepool.htpasswd": str(passwords(folder)),
        "127.0.0.1:8005": f"127.0.0.1:{service}",
    }
    loaded = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in APACHE_MODULES)
    return (
        f"{loaded}\nServerName {NAME}\nServerRoot {folder}\nPidFile {folder}/pid\nListen {HOST}:{port}\n"
        f"ErrorLog {folder}/error.log\nAddOutputFilterByType DEFLATE text/html text/plain\n"
        f"{snippet('apache', changes)}"
    )


COMMANDS = {"nginx": ("nginx", "-e", "stderr", "-c"), "apache2": ("apache2", "-DFOREGROUND", "-f")}
TEXTS = {"nginx": nginx_text, "apache2": apache_text}


@contextmanager
def in_front(program: str, folder: Path, address: str, path: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """Yield a proxy in front of the service at *address*.

    :param path: what to replace in its configuration, so that the service is below a path.
    """
    command = (shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") or "", *COMMANDS[program][1:])
    port, config = free_port(), folder / f"{program}.conf"
    text = TEXTS[program](folder, port, urlsplit(address).port or 0)
    for old, new in (path or {}).items():
        assert old in text
        text = text.replace(old, new, 1)
    config.write_text(text, encoding="utf-8")
    process = subprocess.Popen([*command, config], stdin=subprocess.DEVNULL)
    proxy = Proxy(port, folder / "proxy.pem")

    def answers() -> bool:
        assert process.poll() is None, f"{program} has ended"
        try:
            return proxy.ask("/health").status == 200
        except ConnectionRefusedError:
            return False

    try:
        eventually(answers, 60)
        yield proxy
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(params=sorted(COMMANDS))
def proxy(request, tmp_path, zk_chroot) -> Iterator[Proxy]:
    if shutil.which(request.param, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path / "proxy"
    folder.mkdir()
    with running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as service:
        eventually(lambda: service.get("/node-list").status == 200)
        with in_front(request.param, folder, service.address) as found:
            yield found


def test_who_has_no_password_sees_only_that_the_process_is_there(proxy):
    assert proxy.ask("/", known=False).status == 401
    assert proxy.ask("/node-list", known=False).status == 401
    assert (proxy.ask("/health", known=False).status, proxy.ask("/health", known=False).text) == (200, "OK\n")


def test_pages_lists_and_refusals_come_through(proxy):
    page = proxy.ask("/")
    assert page.status == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert proxy.ask("/node-list", Accept="application/json").json() == []
    assert proxy.ask("/metrics").text.startswith("# HELP")
    assert proxy.ask("/", "HEAD").data == b""
    assert proxy.ask("/node-list", "POST").status in {403, 405}
    assert proxy.ask("/static/..%2f..%2frouting.py").status in {400, 404}


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_the_page_updates_itself_and_what_has_not_changed_is_not_sent_again(proxy, zk_client, coding):
    def fragment(tag=""):
        more = {"If_None_Match": tag} if tag else {}
        return proxy.ask("/?fragment=1", Accept_Encoding=coding, **more)

    tag = fragment().headers["etag"]
    eventually(lambda: fragment(fragment().headers["etag"]).status == 304)
    node = {"state": "ready", "type": ["small"], "provider": "east"}
    zk_client.create("/nodepool/nodes/0000000001", json.dumps(node).encode(), makepath=True)
    eventually(lambda: fragment(tag).status == 200)
    eventually(lambda: "./nodes?state=ready" in proxy.ask("/?fragment=1").text)


def test_a_list_that_a_visitor_has_is_not_sent_again_although_the_proxy_compresses(proxy, zk_client):
    for number in range(50):
        zk_client.create(f"/nodepool/nodes/{number:010d}", b'{"state": "ready"}', makepath=True)
    eventually(lambda: len(proxy.ask("/node-list", Accept="application/json").json()) == 50)

    def again():
        found = proxy.ask("/node-list", Accept_Encoding="gzip")
        assert found.headers["content-encoding"] == "gzip"
        return proxy.ask("/node-list", Accept_Encoding="gzip", If_None_Match=found.headers["etag"]).status

    eventually(lambda: again() == 304)


PATH = "/nodepool"
_HEALTH = "ProxyPass /health http://SERVICE/health\n    ProxyPass"
TAKEN = {
    "nginx": {"location / {": f"location {PATH}/ {{", ";\n    }\n    location =": "/;\n    }\n    location ="},
    "apache2": {"ProxyPass        / ": f"{_HEALTH} {PATH}/ "},
}
"""What to replace in the snippets, so that the proxy takes the path away."""
LEFT = {
    "nginx": {"location / {": f"location {PATH} {{"},
    "apache2": {"ProxyPass        / http://SERVICE/": f"{_HEALTH} {PATH} http://SERVICE{PATH}"},
}
"""The same, so that the proxy leaves the path in its requests."""


@pytest.mark.parametrize("program", sorted(COMMANDS))
@pytest.mark.parametrize("left", [False, True])
def test_below_a_path(program, left, tmp_path, zk_chroot):
    if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        pytest.skip(f"{program} is not installed")
    folder = tmp_path / "proxy"
    folder.mkdir()
    config = write_config(tmp_path / "nodepool.yaml", zk_chroot)
    with running(config, Visitors(prefix=PATH if left else "", hosts=(NAME, HOST))) as service:
        eventually(lambda: service.get("/node-list").status == 200)
        there = urlsplit(service.address).netloc
        given = (LEFT if left else TAKEN)[program]
        changes = {old.replace("SERVICE", there): new.replace("SERVICE", there) for old, new in given.items()}
        with in_front(program, folder, service.address, changes) as proxy:
            page = proxy.ask(f"{PATH}/")
            assert page.status == 200
            links = set(re.findall(r'(?:href|src|action)="([^"#]*)"', page.text))
            assert links
            for link in links:
                assert not link.startswith(("/", "http")), link
                assert proxy.ask(urljoin(f"{PATH}/", link)).status == 200, link
            if left:
                moved = proxy.ask(PATH)
                assert (moved.status, moved.headers["location"]) == (308, "./nodepool/")
            assert proxy.ask(f"{PATH}/node-list", Accept="application/json").json() == []
            assert proxy.ask("/node-list").status == 404
