"""The OpenAPI document, derived from the rows of an API."""

from __future__ import annotations

from typing import Any, cast

import pytest

from commonplace.faces.rest.endpoint import COMMON_STATUSES, Endpoint, document
from commonplace.toolsets.cascade.rest import CASCADE_REST
from commonplace.toolsets.wiki.rest.endpoints import WIKI_REST

CONTRACTS = {"wiki": WIKI_REST, "cascade": CASCADE_REST}


@pytest.fixture(scope="module", params=list(CONTRACTS))
def api(request: pytest.FixtureRequest) -> tuple[tuple[Endpoint, ...], dict[str, Any]]:
    contract = CONTRACTS[request.param]
    rows = contract.endpoints()
    return rows, cast("dict[str, Any]", document(rows, contract.description))


Api = tuple[tuple[Endpoint, ...], dict[str, Any]]


def operations(api: Api) -> list[tuple[Endpoint, dict[str, Any]]]:
    rows, made = api
    return [(row, made["paths"][row.template][row.method.lower()]) for row in rows]


def test_every_row_is_an_operation_with_a_name_of_its_own(api: Api) -> None:
    found_operations = [operation for _, operation in operations(api)]
    assert len({found_operation["operationId"] for found_operation in found_operations}) == len(found_operations)
    assert sum(len(set(item) - {"parameters"}) for item in api[1]["paths"].values()) == len(found_operations)


def test_every_variable_of_a_path_is_a_parameter(api: Api) -> None:
    for template, item in api[1]["paths"].items():
        named = {parameter["name"] for parameter in item.get("parameters", [])}
        assert all(f"{{{name}}}" in template for name in named)
        assert template.count("{") == len(named)


def test_every_model_that_is_referred_to_is_there_and_no_other(api: Api) -> None:
    _, made = api
    referred = set[str]()

    def walk(node: object) -> None:
        if isinstance(node, dict):
            for key, value in cast("dict[str, object]", node).items():
                if key == "$ref":
                    referred.add(str(value).rpartition("/")[2])
                walk(value)
        elif isinstance(node, list):
            for value in cast("list[object]", node):
                walk(value)

    walk(made)
    assert referred == set(made["components"]["schemas"])


def test_an_operation_says_who_may_call_it_what_it_takes_and_how_it_refuses(api: Api) -> None:
    for row, operation in operations(api):
        statuses = set(operation["responses"])
        assert {str(element) for element in (*COMMON_STATUSES, *row.answers, *row.error_statuses)} <= statuses
        assert (operation.get("security") == [{}]) is (row.tier is None)
        assert ("requestBody" in operation) is (row.body is not None or row.takes_bytes)
        assert ("413" in statuses) >= ("requestBody" in operation)
        assert ("412" in statuses) >= row.conditional
        assert ("304" in statuses) is (row.conditional and row.method == "GET")
        headers = [parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "header"]
        assert headers == (["If-Match", "If-None-Match"] if row.conditional else [])


def test_a_parameter_of_a_url_is_never_null(api: Api) -> None:
    for row, operation in operations(api):
        for parameter in operation["parameters"]:
            assert "null" not in str(parameter["schema"].get("type", "")), (row.template, parameter)
            assert "anyOf" not in parameter["schema"], (row.template, parameter)
