"""What the OpenAPI schema says beyond the views: the keys, and what holds for every call."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from documents.api.idempotency import HEADER, REPLAYED
from documents.api.problems import MEDIA_TYPE

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description='The revision in view, in quotation marks ("7"), where the body does not carry it.',
)


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "documents.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A key made by “manage.py create_api_key”."}


PROBLEM = {
    "type": "object",
    "description": "RFC 9457. More members may follow, such as `currentRevision`.",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "One sentence for a person."},
        "code": {"type": "string", "description": "Stable, for programs."},
        "fields": {
            "type": "object",
            "description": "What is wrong with which field of the request.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}
REFUSAL = {
    "description": "The request was refused; the code says why.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
IDEMPOTENCY = {
    "in": "header",
    "name": HEADER,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "description": f"Sent again with the same key, a request gets its first answer again, marked `{REPLAYED}: true`.",
}


def describe_every_call(result: dict[str, Any], **_generator: Any) -> dict[str, Any]:
    """A postprocessing hook: every call may answer with a problem, every POST takes an Idempotency-Key, and no request has
    other fields than those described."""
    schemas = result["components"]["schemas"]
    for name, schema in schemas.items():
        if name.endswith("Request"):
            schema["additionalProperties"] = False
    schemas["Problem"] = PROBLEM
    for path in result["paths"].values():
        for method, operation in path.items():
            operation["responses"]["default"] = REFUSAL
            if method == "post":
                operation.setdefault("parameters", []).append(IDEMPOTENCY)
    return result
