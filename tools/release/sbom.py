"""The software bill of materials of a checkout, in CycloneDX 1.6: every pinned package with its digests and licence."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

from licences import Part
from pins import Pin

SPEC = "1.6"


def bill(name: str, version: str, pins: Sequence[Pin], parts: Sequence[Part]) -> str:
    """The bill of materials; the same bytes for the same pins, licences and version.

    Args:
        name: Name of the product.
        version: Version of the product.
        pins: Packages of the product.
        parts: The same packages with their licences, and the libraries in them.
    """
    root = f"pkg:pypi/{name}@{version}"
    components = [_package(pin, licence=_licence(pin, parts)) for pin in pins]
    libraries = [_library(part) for part in parts if part.carrier]
    described: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": name,
                "version": version,
                "purl": root,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": components + libraries,
        "dependencies": [
            {"ref": root, "dependsOn": sorted(component["bom-ref"] for component in components)},
            *({"ref": component["bom-ref"]} for component in components),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(described, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{serial}", **described}, indent=2, ensure_ascii=False) + "\n"


def _licence(pin: Pin, parts: Sequence[Part]) -> str:
    return next(part.licence for part in parts if (part.name, part.version) == (pin.name, pin.version))


def _package(pin: Pin, licence: str) -> dict[str, Any]:
    reference = f"pkg:pypi/{pin.name}@{pin.version}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": pin.name,
        "version": pin.version,
        "purl": reference,
        "licenses": [{"expression": licence}],
        # In CycloneDX a component has the digests of one file; a pin has one digest for each platform's file.
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"{reference}#{digest[:12]}",
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
            for digest in pin.digests
        ],
    }


def _library(part: Part) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": f"bundled:{part.carrier}/{part.name}",
        "name": part.name,
        "description": f"Shared library in the wheel of {part.carrier}",
        "licenses": [{"expression": part.licence}],
    }
