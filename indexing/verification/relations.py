"""What the parts of an Office file refer to."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator

from lxml import etree

RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def relations(package: zipfile.ZipFile, part: str) -> Iterator[tuple[str, str, str]]:
    """Name, kind and target of what a part refers to inside of the file."""
    folder, name = posixpath.split(part)
    try:
        listed = package.read(f"{folder}/_rels/{name}.rels")
    except KeyError:
        return
    for relation in etree.fromstring(listed):
        if relation.get("TargetMode") != "External":
            target = str(relation.get("Target", ""))
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")
            yield str(relation.get("Id")), str(relation.get("Type")), path
