"""Judges requests and replies by the API's published description, where it is there."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from support import SHARED

DESCRIPTION = SHARED / "confluence" / "confluence-v2.openapi.json"


def _plain(schema: Any) -> Any:
    """A schema of OpenAPI 3.0 as one of JSON Schema."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    # `oneOf` of bodies without required fields is meant as `anyOf`.
    plain = {
        "anyOf" if key == "oneOf" else key: _plain(value)
        for key, value in schema.items()
        if key not in {"nullable", "format", "example"}
    }
    if schema.get("nullable"):
        return {"anyOf": [plain, {"type": "null"}]}
    return plain


class Judge:
    """Finds what a request or reply has that the description does not allow."""

    def __init__(self) -> None:
        self._description = json.loads(DESCRIPTION.read_text())
        plain = _plain(self._description)
        resource = Resource(contents=plain, specification=DRAFT202012)
        self._registry = Registry().with_resource("urn:api", resource)
        self._paths = [
            (re.compile(re.sub(r"\{[^}]+\}", r"([^/]+)", path) + "$"), path) for path in self._description["paths"]
        ]
        self._paths.sort(key=lambda pair: pair[1].count("{"))

    def request(self, method: str, path: str, query: str, body: bytes) -> list[str]:
        """The faults of a request."""
        operation, name = self._operation(method, path)
        if operation is None:
            return [f"{method} {path}: no such operation"]
        known = {one["name"]: one for one in operation.get("parameters", []) if one["in"] == "query"}
        faults = [f"{method} {name}: no parameter {key}" for key, _ in parse_qsl(query) if key not in known]
        for key, value in parse_qsl(query):
            schema = known.get(key, {}).get("schema", {})
            schema = schema.get("items", schema)
            if schema.get("type") == "integer" and not value.isdigit():
                faults.append(f"{method} {name}: {key}={value} is no number")
            if int(schema.get("maximum", 0)) and int(value) > schema["maximum"]:
                faults.append(f"{method} {name}: {key}={value} is over {schema['maximum']}")
            if "enum" in schema and value not in schema["enum"]:
                faults.append(f"{method} {name}: {key}={value} is none of {schema['enum']}")
        content = operation.get("requestBody")
        if content:
            where = content.get("$ref") or self._pointer("paths", name, method.lower(), "requestBody")
            faults += self._faults(f"{where}/content/application~1json/schema", json.loads(body), f"{method} {name}")
        return faults

    def reply(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """The faults of a reply."""
        operation, name = self._operation(method, path)
        if operation is None or status != 200:
            return []
        where = self._pointer("paths", name, method.lower(), "responses", "200")
        return self._faults(f"{where}/content/application~1json/schema", body, f"reply to {method} {name}")

    def _operation(self, method: str, path: str) -> tuple[dict[str, Any] | None, str]:
        for pattern, name in self._paths:
            if pattern.match(path):
                return self._description["paths"][name].get(method.lower()), name
        return None, path

    def _pointer(self, *parts: str) -> str:
        return "#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)

    @cache  # noqa: B019 - one judge for the whole run
    def _validator(self, pointer: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"urn:api{pointer}"}, registry=self._registry)

    def _faults(self, pointer: str, value: Any, what: str) -> list[str]:
        return [
            f"{what}: {error.json_path} {error.message}"[:300] for error in self._validator(pointer).iter_errors(value)
        ]


@cache
def judge() -> Judge | None:
    """The judge; None where the description is not there."""
    return Judge() if DESCRIPTION.is_file() else None
