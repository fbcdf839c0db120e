# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import clouds, library
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import NetworkRoles
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import load_cloud_entry
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, MissingLibraryError

ENTRY = """
clouds:
  east:
    region_name: RegionOne
    private: true
    force_ipv4: true
    auth: &auth
      auth_url: http://keystone.invalid/v3
      username: nodepool
      password: sesame-42-open
      project_name: ci
      user_domain_name: Default
      project_domain_name: Default
    networks:
      - {name: outside, routes_externally: true, nat_source: true}
      - {name: inside, nat_destination: true, default_interface: true}
  west:
    floating_ip_source: None
    auth: *auth
  odd:
    auth_type: nonsense
    auth: *auth
  two:
    regions: [RegionOne, RegionTwo]
    auth: *auth
  nothing:
    auth_type: none
    auth: {endpoint: http://nova.invalid}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "clouds.yaml"
    file.write_text(ENTRY, encoding="utf-8")
    return file


def test_the_entry_says_how_to_talk_to_servers(path: Path) -> None:
    entry = load_cloud_entry("p", "east", None, str(path))
    assert (entry.private, entry.force_ipv4) == (True, True)
    assert entry.roles == NetworkRoles(
        external=("outside",),
        internal=("inside",),
        default_interface="inside",
        nat_source="outside",
        nat_destination="inside",
    )
    assert entry.region.get_region_name() == "RegionOne"
    assert entry.secrets == ("sesame-42-open",)
    assert not load_cloud_entry("p", "west", None, str(path)).roles.floating_ips


def test_the_sdk_reads_the_files_once_for_all_entries_and_again_after_a_change(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    class Counted(library.sdk_config.OpenStackConfig):
        def __init__(self, **options: object) -> None:
            read.append(options["config_files"])
            super().__init__(**options)

    secure = tmp_path / "secure.yaml"
    monkeypatch.setattr(library.sdk_config, "OpenStackConfig", Counted)
    monkeypatch.setattr(library.sdk_config, "SECURE_FILES", [str(secure)])

    def passwords() -> list[str]:
        entries = [load_cloud_entry("p", name, None, str(path)) for name in ("east", "west", "two")]
        return [entry.region.config["auth"]["password"] for entry in entries]

    assert passwords() == ["sesame-42-open"] * 3
    assert len(read) == 1
    path.write_text(ENTRY.replace("42", "43"), encoding="utf-8")
    assert passwords() == ["sesame-43-open"] * 3
    assert len(read) == 2
    secure.write_text("clouds: {west: {auth: {password: of-west}}}", encoding="utf-8")
    assert passwords() == ["sesame-43-open", "of-west", "sesame-43-open"]
    assert len(read) == 3


def test_a_profile_of_a_vendor_is_read_again_when_its_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendors = tmp_path / "clouds-public.yaml"
    monkeypatch.setattr(library.sdk_config, "VENDOR_FILES", [str(vendors)])
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(
        "clouds: {mine: {profile: ours, auth: {username: u, password: sesame, project_name: p}}}", encoding="utf-8"
    )
    for address in ("http://one.invalid/v3", "http://another.invalid/v3"):
        vendors.write_text(f"public-clouds: {{ours: {{auth: {{auth_url: {address}}}}}}}", encoding="utf-8")
        assert load_cloud_entry("p", "mine", None, str(clouds)).region.config["auth"]["auth_url"] == address


def test_another_environment_is_another_reading(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    monkeypatch.setenv("OS_CLOUD_NAME", "of-variables")
    for name in ("AUTH_URL", "USERNAME", "PROJECT_NAME"):
        monkeypatch.setenv(f"OS_{name}", "http://keystone.invalid/v3")
    for password in ("sesame", "barley"):
        monkeypatch.setenv("OS_PASSWORD", password)
        assert load_cloud_entry("p", "of-variables", None).region.config["auth"]["password"] == password


def test_the_providers_region_wins(path: Path) -> None:
    assert load_cloud_entry("p", "two", "RegionTwo", str(path)).region.get_region_name() == "RegionTwo"
    assert load_cloud_entry("p", "two", None, str(path)).region.get_region_name() == "RegionOne"
    with pytest.raises(CloudAuthError, match="RegionOne,RegionTwo"):
        load_cloud_entry("p", "two", "RegionThree", str(path))


def test_the_file_is_found_as_the_sdk_does(path: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    assert load_cloud_entry("p", "east", None).where == f"entry 'east' in {path}"
    other = tmp_path / "other.yaml"
    other.write_text(ENTRY.replace("  east:", "  north:"), encoding="utf-8")
    assert load_cloud_entry("p", "north", None, str(other)).where == f"entry 'north' in {other}"


def test_a_login_in_the_environment_does_not_change_an_entry(path: Path, monkeypatch) -> None:
    """Whoever sources an openrc file before a start must not change the project that servers are made in."""
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    plain = load_cloud_entry("p", "east", None).region
    for name, value in (
        ("AUTH_URL", "http://elsewhere.invalid/v3"),
        ("PROJECT_NAME", "admin"),
        ("PROJECT_ID", "0b1e3a527f0d4c539b0e0d1c2b3a4f5e"),
        ("USERNAME", "somebody"),
        ("PASSWORD", "another-secret"),
        ("REGION_NAME", "Elsewhere"),
        ("TOKEN", "a-token"),
        ("CLOUD", "west"),
    ):
        monkeypatch.setenv(f"OS_{name}", value)
    sourced = load_cloud_entry("p", "east", None).region
    assert sourced.config["auth"] == plain.config["auth"]
    assert sourced.get_region_name() == plain.get_region_name() == "RegionOne"


@pytest.mark.parametrize(
    ("auth_type", "auth", "kind"),
    [
        ("v3applicationcredential", {"application_credential_id": "a1", "application_credential_secret": "s3"}, "Appl"),
        ("v3token", {"token": "t0", "project_id": "p1"}, "Token"),
        (
            "v3password",
            {"username": "u", "password": "s3", "user_domain_id": "default", "project_id": "p1"},
            "Password",
        ),
    ],
)
def test_an_entry_may_log_in_by_other_means_than_a_password(
    path: Path, auth_type: str, auth: dict[str, str], kind: str
):
    login = {"auth_url": "http://keystone.invalid/v3", **auth}
    path.write_text(json.dumps({"clouds": {"east": {"auth_type": auth_type, "auth": login}}}), encoding="utf-8")
    plugin = load_cloud_entry("p", "east", None, str(path)).region.get_auth()
    (method,) = plugin.auth_methods
    assert type(method).__name__.startswith(kind)


def test_the_operators_own_directory_comes_first(path: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    stands = tmp_path / "stands"
    stands.mkdir()
    path.rename(stands / "clouds.yaml")
    monkeypatch.setenv(clouds.HERE, str(stands))
    assert clouds.clouds_files()[0] == str(stands / "clouds.yaml")
    assert str(stands / "secure.yaml") in clouds.clouds_files()
    assert str(stands) in load_cloud_entry("p", "east", None).where


def test_files_that_another_folder_would_not_find(path: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    for name in ("stands", "usual"):
        (tmp_path / name).mkdir()
    here, usual = (str(tmp_path / name / "clouds.yaml") for name in ("stands", "usual"))
    monkeypatch.setenv(clouds.HERE, str(tmp_path / "stands"))
    monkeypatch.setattr(library.sdk_config, "CONFIG_FILES", ["/module/clouds.yaml", usual])
    monkeypatch.setattr(library.sdk_config, "SECURE_FILES", ["/module/secure.yaml"])
    assert clouds.clouds_files_from_here() == ("", "")
    path.rename(usual)
    assert clouds.clouds_files_from_here() == ("", "")
    assert clouds.clouds_files_from_here(usual) == (usual, ""), "the option names it, so the next command must, too"
    for file in (here, here.replace("clouds", "secure")):
        Path(file).write_text("{}", encoding="utf-8")
    assert clouds.clouds_files_from_here() == (here, here.replace("clouds", "secure"))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "../usual/clouds.yaml")
    assert clouds.clouds_files_from_here()[0] == f"{tmp_path}/stands/../usual/clouds.yaml"


def test_a_sourced_openrc_file_alone_is_told(monkeypatch) -> None:
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    monkeypatch.setattr(library.sdk_config, "CONFIG_FILES", ["/a/clouds.yaml"])
    monkeypatch.setenv("OS_AUTH_URL", "https://keystone.invalid/v3")
    with pytest.raises(CloudAuthError, match=r"the variables OS_\* alone are not used: create one"):
        load_cloud_entry("p", "east", None)


def test_no_file_at_all_names_where_it_was_looked_for(monkeypatch) -> None:
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    # The SDK itself may name a place twice.
    places = ["/nonexistent/clouds.yaml", "/nonexistent/clouds.json", "/nonexistent/clouds.yaml"]
    monkeypatch.setattr(library.sdk_config, "CONFIG_FILES", places)
    with pytest.raises(CloudAuthError, match=r"no clouds\.yaml was found \(/nonexistent/clouds\.yaml\)"):
        load_cloud_entry("p", "east", None)


@pytest.mark.parametrize(
    ("cloud", "words"),
    [
        ("south", ["no entry 'south'", "east, nothing, odd, two, west"]),
        ("odd", ["entry 'odd'", "cannot be used", "nonsense"]),
        ("nothing", ["entry 'nothing'", "auth_type 'none'"]),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_with_its_file(path: Path, cloud: str, words: list[str]) -> None:
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", cloud, None, str(path))
    for word in [*words, str(path), "provider p"]:
        assert word in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("5", "it is not a mapping"),
        ("{auth: null}", "'auth' is not a mapping"),
        ("{auth: [sesame-42-open]}", "'auth' is not a mapping"),
        ("{auth: sesame-42-open}", "'auth' is not a mapping"),
        ("{auth: {auth_url: null, username: a, password: sesame-42-open}}", "'auth.auth_url' is not a text"),
        ("{auth: {auth_url: 5, username: a, password: sesame-42-open}}", "'auth.auth_url' is not a text"),
        ("{profile: 5}", "'profile' is not a text"),
        ("{auth: {username: a, password: sesame-42-open}}", "Auth plugin requires parameters"),
        (
            "{auth: {auth_url: 'http://k.invalid/v3', application_credential_id: a}}",
            "auth_type 'password' takes no 'auth.application_credential_id' (auth_type: v3applicationcredential does)",
        ),
        (
            "{auth_type: v3applicationcredential, auth: {auth_url: 'k', application_credential_id: a, username: b}}",
            "an application credential that is named by its id takes no user: leave it out of 'auth'",
        ),
        (
            "{auth: {auth_url: 'http://k.invalid/v3', username: a, password: sesame-42-open, region_name: r}}",
            "auth_type 'password' takes no 'auth.region_name' (it belongs beside auth, not below it)",
        ),
        (
            "{auth: {auth_url: 'http://k.invalid/v3', username: a, password: sesame-42-open, projekt_name: r}}",
            "auth_type 'password' takes no 'auth.projekt_name'",
        ),
        (
            "{profile: vexxhots, auth: {username: a, password: sesame-42-open}}",
            "Auth plugin requires parameters which were not given: auth_url; openstacksdk knows no profile 'vexxhots'",
        ),
        (
            "{auth: {auth_url: 'http://keystone.invalid/v3', username: a, user_domain_id: d}}",
            "'auth.password' is missing, here and in secure.yaml",
        ),
        (
            "{auth: {auth_url: 'http://keystone.invalid', password: sesame-42-open}}",
            "'auth.username' is missing",
        ),
        (
            "{auth: {auth_url: keystone.invalid, username: a, password: sesame-42-open, user_domain_id: d}}",
            "'auth.auth_url' does not begin with http:// or https://",
        ),
    ],
)
def test_an_entry_of_an_odd_shape_is_told_by_its_key(path: Path, entry: str, why: str) -> None:
    path.write_text(f"clouds: {{east: {entry}}}")
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", "east", None, str(path))
    assert f"entry 'east' in {path} cannot be used: {why}" in str(caught.value)
    assert str(caught.value).endswith(": correct the entry")
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("region_name:", "'region_name' is empty: give it a value, or take it out"),
        ("networks:", "'networks' is empty: give it a value, or take it out"),
        ("networks: public", "'networks' is not a list of mappings, each with a name"),
        ("networks: [public]", "'networks' is not a list of mappings, each with a name"),
        ("external_network: public", "openstacksdk no longer uses 'external_network': write networks: [{name: "),
        ("internal_network: private", "openstacksdk no longer uses 'internal_network': write networks: [{name: "),
        (
            "auth: {auth_url: 'http://{zone}.invalid/v3', username: a, password: sesame-42-open, project_name: p}",
            "'auth.auth_url' has braces, which openstacksdk replaces by keys of the entry",
        ),
    ],
)
def test_what_the_sdk_stumbles_over_is_told_by_its_key(path: Path, more: str, why: str) -> None:
    login = "    auth: {auth_url: 'http://k.invalid/v3', username: a, password: b}\n"
    login = "" if more.startswith("auth:") else login
    path.write_text(f"clouds:\n  east:\n{login}    {more}\n", encoding="utf-8")
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", "east", None, str(path))
    assert str(caught.value).startswith(f"provider p: entry 'east' in {path} cannot be used: {why}")
    assert str(caught.value).endswith(": correct the entry")


@pytest.mark.parametrize("name", ["2024", "no", "2.5"])
def test_an_entry_whose_name_is_no_text_stands_in_nobodys_way(path: Path, name: str) -> None:
    path.write_text(f"{ENTRY}\n  {name}:\n    auth: *auth\n", encoding="utf-8")
    assert load_cloud_entry("p", "east", None, str(path)).cloud == "east"
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", name, None, str(path))
    assert f"no entry '{name}' under 'clouds'" in str(caught.value)
    assert str(caught.value).endswith(
        "correct cloud of the provider, or add the entry; a name that YAML reads as a number or as true or false must"
        " stand in quotes"
    )


def test_a_profile_that_no_web_server_gives_leaves_out_that_provider_alone(path: Path) -> None:
    """Some profiles of the SDK are addresses, too: it fetches them whenever an entry is read."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        path.write_text(f"clouds: {{east: {{profile: '{address}', auth: {{username: a, password: b}}}}}}")
        with pytest.raises(CloudAuthError) as caught:
            load_cloud_entry("p", "east", None, str(path))
    assert str(caught.value).startswith(
        f"provider p: entry 'east' in {path} cannot be used: its profile is fetched from a web server, and that failed"
        " (Failed to establish a new connection: [Errno 111] Connection refused): check the connection to it, or"
    )


@pytest.mark.parametrize(("profile", "remark"), [("dreamcomputer", True), ("dreamcompute", False)])
def test_a_profile_that_the_sdk_does_not_know_is_told(path: Path, profile: str, remark: bool) -> None:
    path.write_text(ENTRY.replace("force_ipv4: true", f"profile: {profile}"), encoding="utf-8")
    entry = load_cloud_entry("p", "east", None, str(path))
    assert entry.image_format == ("qcow2" if remark else "raw")
    assert ("openstacksdk knows no profile 'dreamcomputer'" in entry.remark) == remark


@pytest.mark.parametrize("key", ["cacert", "cert", "key"])
def test_a_file_that_an_entry_names_and_that_is_not_there_is_told_with_its_key(
    path: Path, tmp_path: Path, key: str
) -> None:
    absent, there = tmp_path / "absent.pem", tmp_path / "there.pem"
    there.touch()
    files = {"cert": str(there), "key": str(there), key: str(absent)}
    login = "auth_url: https://keystone.invalid/v3, username: a, password: sesame-42-open, user_domain_id: d"
    path.write_text(f"clouds: {{east: {{auth: {{{login}}}, {', '.join(f'{k}: {v}' for k, v in files.items())}}}}}")
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", "east", None, str(path))
    why = f"'{key}' names {absent}, which cannot be read: No such file or directory: correct the entry"
    assert f"entry 'east' in {path} cannot be used: {why}" in str(caught.value)


def test_a_folder_of_certificates_is_taken(path: Path, tmp_path: Path) -> None:
    login = "auth_url: https://keystone.invalid/v3, username: a, password: b, user_domain_id: d"
    path.write_text(f"clouds: {{east: {{auth: {{{login}}}, cacert: {tmp_path}}}}}")
    assert load_cloud_entry("p", "east", None, str(path)).region.get_requests_verify_args()[0] == str(tmp_path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"clouds:\n  east: [\n  password: sesame-42-open\n", "not valid YAML"),
        (b"", "no 'clouds' mapping"),
        (b"clouds: []", "no 'clouds' mapping"),
        (b"- x", "no 'clouds' mapping"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_broken_file_is_named_and_not_quoted(path: Path, content: bytes, why: str) -> None:
    path.write_bytes(content)
    with pytest.raises(CloudAuthError) as caught:
        load_cloud_entry("p", "east", None, str(path))
    assert why in str(caught.value)
    assert str(path) in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_a_missing_or_unreadable_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CloudAuthError, match=r"absent\.yaml: does not exist: check the path$"):
        load_cloud_entry("p", "east", None, str(tmp_path / "absent.yaml"))
    with pytest.raises(CloudAuthError, match=r"is a directory: give the path of the file in it$"):
        load_cloud_entry("p", "east", None, str(tmp_path))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CloudAuthError, match="is not a regular file"):
        load_cloud_entry("p", "east", None, str(pipe))


def test_a_missing_sdk_is_said_as_such(monkeypatch, path: Path) -> None:
    monkeypatch.setattr(library, "IMPORT_ERROR", "Traceback: no module named openstack")
    with pytest.raises(MissingLibraryError, match="openstacksdk") as caught:
        load_cloud_entry("p", "east", None, str(path))
    assert "no module named openstack" in (caught.value.detail or "")


@pytest.mark.parametrize("text", ["clouds: [", "clouds:\n  east: {auth: {password: 's3cret}}\n", ": ["])
def test_a_broken_file_of_secrets_is_an_error_and_not_an_empty_password(path: Path, monkeypatch, text: str) -> None:
    secure = path.with_name("secure.yaml")
    monkeypatch.setattr("openstack.config.loader.SECURE_FILES", [str(path.with_name("none.yaml")), str(secure)])
    secure.write_text("clouds: {east: {auth: {password: s3cret}}}", encoding="utf-8")
    assert load_cloud_entry("p", "east", None, str(path)).region.config["auth"]["password"] == "s3cret"
    secure.write_text(text, encoding="utf-8")
    with pytest.raises(
        CloudAuthError, match=r"p: .*secure\.yaml is not valid YAML \(line \d\): correct the file"
    ) as told:
        load_cloud_entry("p", "east", None, str(path))
    assert "s3cret" not in str(told.value)
