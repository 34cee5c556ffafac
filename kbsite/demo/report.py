"""What a run of the demo came to, as one JSON object, and what in it is not as the manifest expects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from documents.models import DocumentVersion
from documents.ports import IndexState
from indexing.models import SearchPointer
from indexing.pipelines import serving_pipeline
from indexing.search import Hit, search
from kbsite.demo.publishing import Standing
from kbsite.demo.samples import Manifest, SampleSearch


@dataclass(frozen=True, slots=True)
class Searched:
    """A search of the manifest with its answer."""

    sample: SampleSearch
    hits: tuple[Hit, ...]


def search_all(manifest: Manifest) -> list[Searched]:
    people = {user.username: user for user in User.objects.filter(username__in=[one.name for one in manifest.people])}
    return [
        Searched(sample, search(user=people[sample.as_person], tenant=manifest.tenant, query=sample.query).hits)
        for sample in manifest.searches
    ]


def as_json(
    *,
    standings: Sequence[Standing],
    searched: Sequence[Searched],
    worker_results: dict[str, int],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """Documents once each (not once a version), in the order of the manifest."""
    latest = {standing.document.pk: standing for standing in standings if standing.document is not None}
    return {
        "documents": [_document(standing) for standing in latest.values()],
        "searches": [
            {"query": one.sample.query, "as": one.sample.as_person, "hits": [_hit(hit) for hit in one.hits]}
            for one in searched
        ],
        "workerResults": worker_results,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
    }


def unexpected(standings: Sequence[Standing], searched: Sequence[Searched]) -> Iterator[str]:
    """A sentence for everything that is not as the manifest says; nothing if the run is fine."""
    for standing in standings:
        sample = standing.sample
        now, then = (standing.state, standing.error_code), (sample.expect, sample.expect_code)
        if now != then:
            yield f"{sample.file} is {' '.join(filter(None, now))}, not {' '.join(filter(None, then))}."
    files = _files(searched)
    for one in searched:
        found = {files[hit.document_id, hit.version_number] for hit in one.hits}
        asked = f"“{one.sample.query}” as {one.sample.as_person}"
        if one.sample.expect_file is not None and one.sample.expect_file not in found:
            yield f"{asked} does not find {one.sample.expect_file}."
        if one.sample.expect_nothing_from in found:
            yield f"{asked} finds {one.sample.expect_nothing_from}, which it must not."
        text = json.dumps([_hit(hit) for hit in one.hits], ensure_ascii=False)
        if one.sample.forbidden_text is not None and one.sample.forbidden_text in text:
            yield f"{asked} finds the text “{one.sample.forbidden_text}”, which it must not."


def _document(standing: Standing) -> dict[str, Any]:
    document: Any = standing.document
    pipeline = serving_pipeline(document.tenant_id)
    pointer = SearchPointer.objects.filter(
        document=document.pk, pipeline=pipeline, version_number=document.searchable_version
    ).first()
    return {
        "title": document.title,
        "file": standing.sample.file,
        "indexState": document.index_state,
        "publishedVersion": document.published_version,
        "searchableVersion": document.searchable_version,
        "errorCode": document.index_error_code if document.index_state == IndexState.FAILED else None,
        "chunks": pointer.chunk_count if pointer else 0,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {"title": hit.title, "locator": hit.locator, "snippet": hit.snippet}


def _files(searched: Sequence[Searched]) -> dict[tuple[object, int], str]:
    """File names by document and version, for all that was found."""
    documents = {hit.document_id for one in searched for hit in one.hits}
    versions = DocumentVersion.objects.filter(document__in=documents)
    return {(version.document_id, version.number): version.file_name for version in versions}
