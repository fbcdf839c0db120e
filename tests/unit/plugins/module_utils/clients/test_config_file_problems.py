# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a configuration, in words."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import config_file, yaml_document
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.problems import shown
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError, MissingLibraryError
from tests.support.config_texts import ZOOKEEPER, changed, complaints, parse, valid_document

EAST = "providers[east]"
SMALL = f"{EAST}.pools[main].labels[small]"
LABEL = ("providers", 0, "pools", 0, "labels", 0)


def without_line(problem):
    """The sentence without file and line."""
    file, _unused, rest = problem.partition(":")
    assert file in ("nodepool.yaml", "secure.conf")
    line, _unused, sentence = rest.partition(": ")
    assert line.isdigit()
    return sentence


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("zookeeper-servers",), ..., "lacks the key zookeeper-servers: add it here or in secure.conf"),
        (("zookeeper-servers",), [], "zookeeper-servers: is an empty list: add at least one entry"),
        (
            ("zookeeper-servers", 0, "host"),
            "zk01:2181",
            (
                "zookeeper-servers[zk01:2181].host: is neither a host name nor an address: write the name alone, and "
                "the port in the key port"
            ),
        ),
        (
            ("zookeeper-servers", 0, "port"),
            70000,
            "zookeeper-servers[zk01].port: is the number 70000; expected a whole number, 65535 at most",
        ),
        (
            ("zookeeper-servers",),
            [{"host": "a", "chroot": "x"}, {"host": "b", "chroot": "y"}],
            "zookeeper-servers: has different chroots, but an ensemble has one: give it once",
        ),
        (("zookeeper-tls", "ca"), ..., "zookeeper-tls: lacks 'ca': add it"),
        (
            ("zookeeper-timeout",),
            "10s",
            (
                "zookeeper-timeout: is the text '10s'; expected a number of seconds from 0.1 to 3600: write the number "
                "alone, in seconds"
            ),
        ),
        (("max-hold-age",), 1.5, "max-hold-age: is the number 1.5; expected a whole number of seconds"),
        (
            ("build-log-retention",),
            -2,
            "build-log-retention: is the number -2; expected a whole number of logs, -1 or more",
        ),
        (("labels", 2, "name"), ..., "labels[2]: lacks 'name': add it"),
        (("labels", 2, "name"), None, "labels[2].name: has no value; expected text: add one"),
        (("labels", 2, "name"), 12, "labels[2].name: is the number 12; expected text: put it in quotes"),
        (("labels", 1, "min-ready"), True, "labels[large].min-ready: is true; expected a whole number of nodes"),
        (
            ("labels", 2),
            "spare",
            ("labels[2]: is the text 'spare'; expected a mapping: write 'key: value' lines below it"),
        ),
        (("diskimages",), {"name": "x"}, "diskimages: is a mapping; expected a list: put '- ' before each entry"),
        (
            ("diskimages", 2, "name"),
            "a/b",
            "diskimages[a/b].name: cannot be a part of a ZooKeeper path: leave out slashes and control characters",
        ),
        (
            ("providers", 0, "pools", 0, "name"),
            "a/b",
            f"{EAST}.pools[a/b].name: cannot be a part of a ZooKeeper path: leave out slashes and control characters",
        ),
        (
            ("providers", 0, "pools", 0, "name"),
            "p" * 256,
            f"{EAST}.pools[{shown('p' * 256)}].name: has 256 characters, but only 255 are allowed: shorten it",
        ),
        (
            ("diskimages", 1, "pause"),
            "yes",
            "diskimages[debian].pause: is the text 'yes'; expected true or false: write it without quotes",
        ),
        (
            ("diskimages", 1, "elements"),
            "vm",
            "diskimages[debian].elements: is the text 'vm'; expected a list: write a list, [one, two]",
        ),
        (
            ("diskimages", 1, "env-vars"),
            {"PASSWORD": True},
            "diskimages[debian].env-vars.PASSWORD: is true or false; expected text: put it in quotes",
        ),
        (
            ("diskimages", 1, "dib-cmd"),
            "dib 'x",
            "diskimages[debian].dib-cmd: has a quote that is not closed: close it",
        ),
        (("providers", 0, "cloud"), ..., f"{EAST}: lacks 'cloud': add it"),
        (
            ("providers", 0, "driver"),
            "opnstack",
            (
                f"{EAST}.driver: is the text 'opnstack'; expected one of openstack, aws, azure, example, fake, gce, "
                "ibmvpc, "
                "kubernetes, metastatic, openshift, openshiftpods, static or test; did you mean openstack?"
            ),
        ),
        (
            ("providers", 0, "boot-timeout"),
            0,
            f"{EAST}.boot-timeout: is the number 0; expected a whole number of seconds, 1 or more",
        ),
        (
            ("providers", 0, "rate"),
            "-0.5",
            f"{EAST}.rate: is the number -0.5; expected a number of seconds from 0 to 3600",
        ),
        (
            ("providers", 0, "image-name-format"),
            "{image}-{timestamp}",
            f"{EAST}.image-name-format: uses {{image}}; there are image_name, upload_id, timestamp: use these",
        ),
        (
            ("providers", 0, "image-name-format"),
            "{image_name",
            f"{EAST}.image-name-format: has an unmatched brace: close it, or double it",
        ),
        (
            ("providers", 0, "cloud-images", 0, "image-name"),
            "x",
            f"{EAST}.cloud-images[rocky]: has both image-id and image-name: keep one of them",
        ),
        (
            ("providers", 0, "pools", 0, "max-cores"),
            -1,
            f"{EAST}.pools[main].max-cores: is the number -1; expected a whole number of cores, 0 or more",
        ),
        (
            (*LABEL, "min-ram"),
            "8G",
            (
                f"{SMALL}.min-ram: is the text '8G'; expected a whole number of MiB, 0 or more: "
                "write the number alone, in MiB"
            ),
        ),
        ((*LABEL, "min-ram"), ..., f"{SMALL}: needs flavor-name or min-ram: say which flavor to use"),
        ((*LABEL, "diskimage"), ..., f"{SMALL}: needs exactly one of diskimage and cloud-image"),
        ((*LABEL, "cloud-image"), "rocky", f"{SMALL}: needs exactly one of diskimage and cloud-image"),
        (
            (*LABEL, "diskimage"),
            "debain",
            (
                f"{SMALL}.diskimage: names the diskimage 'debain', which is not defined at the top of the file: "
                "did you mean debian?"
            ),
        ),
        (
            (*LABEL, "name"),
            "smal",
            (
                f"{EAST}.pools[main].labels[smal].name: names the label 'smal', which is not defined at the top of "
                "the file: did you mean small?"
            ),
        ),
        (
            ("providers", 0, "cloud-images"),
            None,
            (
                f"{EAST}.pools[main].labels[large].cloud-image: names the cloud-image 'rocky', which is not defined "
                "in the cloud-images of this provider: define it there"
            ),
        ),
        (
            ("tenant-resource-limits", 0, "gpus"),
            1.5,
            "tenant-resource-limits[t].gpus: is the number 1.5; expected a whole number, 0 or more",
        ),
        (("tenant-resource-limits", 0, "tenant-name"), ..., "tenant-resource-limits[0]: lacks 'tenant-name': add it"),
    ],
)
def test_one_mistake_gives_one_sentence(path, value, sentence):
    assert [without_line(problem) for problem in complaints(changed(path, value))] == [sentence]


def test_an_unknown_driver_is_the_only_mistake_of_its_provider():
    document = valid_document()
    document["providers"][1] = {
        "name": "other",
        "driver": "opnstack",
        "image-name-format": "{",
        "diskimages": [{"name": "unheard-of"}],
        "pools": [{"name": "p", "labels": [{"name": "unheard-of", "instance-type": "m1"}], "max-pods": 3}],
    }
    (problem,) = complaints(document)
    assert without_line(problem).startswith("providers[other].driver: is the text 'opnstack'; expected one of")


def test_warnings_are_told_beside_errors():
    """What was ignored may be what was meant."""
    document = changed(("providers", 1), ...)
    label = document["providers"][0]["pools"][0]["labels"][1]
    label["flavour-name"] = label.pop("flavor-name")
    with pytest.raises(ConfigError) as caught:
        parse(document)
    assert [without_line(problem) for problem in caught.value.problems] == [
        f"{EAST}.pools[main].labels[large]: needs flavor-name or min-ram: say which flavor to use"
    ]
    assert [without_line(warning) for warning in caught.value.warnings] == [
        (
            f"{EAST}.pools[main].labels[large].flavour-name: is not a known key here and is ignored: did you mean"
            f" flavor-name?"
        )
    ]


def test_an_abstract_image_cannot_be_uploaded():
    document = changed(("providers", 0, "diskimages", 0, "name"), "base")
    assert [without_line(problem) for problem in complaints(document)] == [
        f"{EAST}.diskimages[base].name: is an abstract diskimage, which is never built: name one that is not abstract"
    ]


def test_all_problems_are_told_at_once_in_the_order_of_the_file():
    text = (
        "labels:\n- nme: a\n- name: b\nmax-hold-age: x\nproviders:\n- name: x\n  cloud: x\n  pools:\n"
        "  - name: p\n    labels: [{name: c, diskimage: d}]\n"
    )
    problems = complaints(text)
    assert [problem.split(": ")[0] for problem in problems] == [
        "nodepool.yaml:1",
        "nodepool.yaml:2",
        "nodepool.yaml:4",
        *["nodepool.yaml:10"] * 3,
    ]


def test_lines_behind_aliases_and_merges_are_where_the_text_stands():
    text = ZOOKEEPER + (
        "labels: [{name: a}]\n"
        "providers:\n"
        "- name: one\n"
        "  cloud: c\n"
        "  cloud-images: &images [{name: i}]\n"
        "  pools:\n"
        "  - &pool\n"
        "    name: p\n"
        "    max-ram: lots\n"
        "    labels: [{name: a, cloud-image: i, min-ram: 1}]\n"
        "- name: two\n"
        "  cloud: c\n"
        "  cloud-images: *images\n"
        "  pools:\n"
        "  - <<: *pool\n"
        "    max-servers: 2\n"
    )
    assert [problem.split(": ")[:2] for problem in complaints(text)] == [
        ["nodepool.yaml:10", "providers[one].pools[p].max-ram"],
        ["nodepool.yaml:10", "providers[two].pools[p].max-ram"],
    ]


UNKNOWN = "is not a known key here and is ignored"


@pytest.mark.parametrize(
    ("path", "key", "sentence"),
    [
        ((), "lables", "lables: is not a known key here and is ignored: did you mean labels?"),
        ((), "xyzzy", "xyzzy: is not a known key here and is ignored: remove it"),
        (LABEL, "min-rma", f"{SMALL}.min-rma: is not a known key here and is ignored: did you mean min-ram?"),
        (
            LABEL,
            "instance-type",
            f"{SMALL}.instance-type: is an option of the aws or gce driver and is ignored: remove it",
        ),
        (
            ("providers", 0),
            "hostname-format",
            f"{EAST}.hostname-format: is a key of Nodepool up to 9 and ignored: nothing used it: remove it",
        ),
        (
            ("tenant-resource-limits", 0),
            "max-core",
            "tenant-resource-limits[t].max-core: is not a known key here and is ignored: did you mean max-cores?",
        ),
        (
            ("providers", 0),
            "tenant-name",
            f"{EAST}.tenant-name: {UNKNOWN}: it belongs to tenant-resource-limits of nodepool.yaml",
        ),
        (
            LABEL,
            "boot-timeout",
            (
                f"{SMALL}.boot-timeout: {UNKNOWN}: it belongs to providers of nodepool.yaml, or to labels or "
                "providers.pools.labels of nodepool-settings.yaml"
            ),
        ),
        (
            (),
            "max-ready-age",
            "max-ready-age: is not a known key here and is ignored: it belongs to labels of nodepool.yaml",
        ),
    ],
)
def test_an_unknown_key_is_a_warning_and_an_error_when_strict(path, key, sentence):
    document = changed(("providers", 1), ...)
    place = document
    for step in path:
        place = place[step]
    place[key] = 1
    assert [without_line(warning) for warning in parse(document).warnings] == [sentence]
    assert [without_line(problem) for problem in complaints(document, strict=True)] == [sentence]


def test_keys_that_nodepool_accepts_without_effect_are_no_matter():
    document = changed(("providers", 0, "nodepool-id"), "x")
    document["providers"][0]["pools"][0]["use-internal-ip"] = True
    document["diskimages"][1]["shell-type"] = "sh"
    del document["providers"][1]
    assert parse(document, strict=True).warnings == ()


@pytest.mark.parametrize("driver", ["static", "aws", "metastatic", "fake", "kubernetes", "openshiftpods"])
def test_a_provider_with_another_driver_is_left_out_with_one_message(driver):
    document = valid_document()
    document["labels"].append({"name": "only-there"})
    document["providers"][1] = {
        "name": "other",
        "driver": driver,
        "launch-timeout": "never",
        "diskimages": [{"name": "unheard-of"}],
        "pools": [{"name": "p", "labels": [{"name": "only-there", "instance-type": "m1"}, {"name": "unheard-of"}]}],
    }
    config = parse(document)
    sentence = (
        f"providers[other]: has the driver {driver}; only openstack is supported, the provider and its pools"
        f" are ignored: remove it, or let a launcher of Nodepool serve it in the same tree"
    )
    assert [without_line(warning) for warning in config.warnings] == [sentence]
    assert list(config.providers) == ["east"]
    assert "only-there" in config.labels
    assert [without_line(problem) for problem in complaints(document, strict=True)] == [sentence]


def test_a_name_that_begins_with_fake_means_nothing():
    assert "fake-cloud" in parse(changed(("providers", 0, "name"), "fake-cloud")).providers


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("images-dir", "images", "images"),
        ("images-dir", "~/images", "~/images"),
        ("build-log-dir", "./log", "./log"),
        ("elements-dir", "/etc/elements:elements:more", "elements"),
        ("images-dir", "/var/images", None),
        ("elements-dir", "/etc/elements:/srv/elements", None),
        ("images-dir", "", None),
    ],
)
def test_a_folder_that_depends_on_where_a_cycle_happens_to_work_is_told(key, value, told):
    """It would be below the playbook, or below a folder that each cycle of a service has anew."""
    config = parse(ZOOKEEPER + f'{key}: "{value}"\n')
    sentence = f"has the relative path {told}, but a cycle has no fixed working directory: write an absolute path"
    assert list(config.warnings) == ([f"nodepool.yaml:2: {key}: {sentence}"] if told else [])


@pytest.mark.parametrize("key", ["formats", "keep-formats"])
def test_a_format_that_diskimage_builder_does_not_make_is_told(key):
    (warning,) = parse(ZOOKEEPER + f"diskimages: [{{name: u, {key}: [qcow2, qcow3, vmdk]}}]").warnings
    begin = (
        f"nodepool.yaml:2: diskimages[u].{key}[1]: names qcow3, which diskimage-builder does not produce: use"
        f" one of aci, "
    )
    assert warning.startswith(begin) and "qcow2, " in warning


def test_a_release_that_yaml_takes_for_a_fraction_is_told():
    config = parse(ZOOKEEPER + "diskimages: [{name: u, release: 22.10}]")
    assert config.warnings == ("nodepool.yaml:2: diskimages[u].release: is read as the number 22.1: put it in quotes",)
    assert config.diskimages["u"].release == "22.1"


SECURE = """
zookeeper-servers: [{host: zk-secret, port: 1}]
zookeeper-tls: {cert: c2, key: k2, ca: a2}
diskimages:
- name: debian
  env-vars: {A: hidden, TOKEN: hidden}
"""


def test_secure_conf_replaces_and_completes():
    config = parse(valid_document(), SECURE)
    assert [server.host for server in config.zookeeper.servers] == ["zk-secret"]
    assert config.zookeeper.tls is not None
    assert config.zookeeper.tls.key == "k2"
    assert config.diskimages["debian"].env_vars == {"A": "hidden", "TOKEN": "hidden"}
    assert "hidden" not in repr(config)


def test_secure_conf_may_be_the_only_one_to_name_zookeeper():
    config = parse(changed(("zookeeper-servers",), ...), SECURE)
    assert config.zookeeper.servers[0].port == 1


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "diskimages:\n"])
def test_an_empty_secure_conf_is_fine(text):
    assert parse(valid_document(), text) == parse(valid_document())


@pytest.mark.parametrize(
    ("secure", "sentence"),
    [
        (
            "diskimages: [{name: debain}]",
            (
                "diskimages[0].name: names a diskimage that nodepool.yaml does not define: correct the name, or "
                "define it there"
            ),
        ),
        (
            "diskimages: [{name: base}]",
            (
                "diskimages[0].name: names an abstract diskimage, which cannot have env-vars here: name the"
                " images that inherit from it"
            ),
        ),
        (
            "diskimages: [{name: debian, env-vars: {TOKEN: [hunter2]}}]",
            "diskimages[0].env-vars.TOKEN: is a list; expected text",
        ),
        ("zookeeper-servers: hunter2", "zookeeper-servers: is a text; expected a list: write a list, [one, two]"),
        (
            "zookeeper-servers: [{host: 'hunter2:2'}]",
            (
                "zookeeper-servers[0].host: is neither a host name nor an address: write the name alone, and the "
                "port in the key port"
            ),
        ),
        ("- hunter2", "holds a list; expected 'key: value' lines, such as zookeeper-servers: and diskimages:"),
        ("a: 'hunter2", "is not valid YAML (column 12): close the quotes, or double the backslash"),
    ],
)
def test_secure_conf_is_judged_without_showing_its_values(secure, sentence):
    (problem,) = complaints(changed(("providers", 1), ...), secure)
    assert problem == f"secure.conf:1: {sentence}"
    assert "hunter2" not in problem


def test_other_keys_in_secure_conf_are_ignored_with_a_warning():
    config = parse(changed(("providers", 1), ...), "labels: [{name: x}]")
    sentence = "is not a known key here and is ignored: it belongs to the top or providers.pools of nodepool.yaml"
    assert config.warnings == (f"secure.conf:1: labels: {sentence}",)
    assert "x" not in config.labels


def test_problems_of_both_files_are_told_together():
    problems = complaints(changed(("max-hold-age",), "x"), "zookeeper-tls: 1")
    assert [problem.split(":")[0] for problem in problems] == ["nodepool.yaml", "secure.conf"]


def test_a_broken_secure_conf_does_not_make_the_main_file_lack_zookeeper():
    problems = complaints(changed(("zookeeper-servers",), ...), "a: [")
    assert [problem.split(":")[0] for problem in problems] == ["secure.conf"]


@pytest.mark.parametrize("section", ["userdata", "instance-properties", "dynamic-instance-properties"])
def test_values_of_free_form_sections_are_not_shown(section):
    value = 4711 if section == "userdata" else {"k": [4711]}
    (problem,) = complaints(changed((*LABEL, section), value))
    assert "4711" not in problem


@pytest.mark.parametrize(
    ("module", "problem", "library"),
    [(config_file, "JSONSCHEMA_IMPORT_ERROR", "jsonschema"), (yaml_document, "YAML_IMPORT_ERROR", "PyYAML")],
)
def test_a_missing_library_is_named(monkeypatch, module, problem, library):
    monkeypatch.setattr(module, problem, "ImportError")
    with pytest.raises(MissingLibraryError, match=library):
        parse(valid_document())
