"""A reader who searches all the time, and what it was shown of each document."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from django.contrib.auth.models import User
from django.db import connection

from indexing.search import MAX_LIMIT, search

PAUSE = 0.02  # seconds between two searches


class Reader:
    """Searches for one document's own word after the other, in a thread. `torn` counts documents that were ever shown in part,
    or in two versions at once."""

    def __init__(self, *, user: User, tenant: str, markers: Mapping[str, uuid.UUID]) -> None:
        self.looks = 0
        self.failure: BaseException | None = None
        self._user, self._tenant, self._markers = user, tenant, markers
        self._seen: set[tuple[uuid.UUID, tuple[tuple[int, int], ...]]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    def torn(self, whole: Mapping[tuple[uuid.UUID, int], int]) -> int:
        """`whole`: by document and version, how many chunks it has."""
        return len(
            {
                document
                for document, shown in self._seen
                if len(shown) > 1 or any(whole[document, version] != count for version, count in shown)
            }
        )

    def found(self) -> int:
        """Documents that were found at least once."""
        return len({document for document, _ in self._seen})

    def _go_on(self) -> None:
        try:
            while True:
                for marker, document in self._markers.items():
                    if self._stop.wait(PAUSE):
                        return
                    self._look(marker, document)
        except BaseException as failure:
            self.failure = failure
        finally:
            connection.close()

    def _look(self, marker: str, document: uuid.UUID) -> None:
        answer = search(user=self._user, tenant=self._tenant, query=marker, limit=MAX_LIMIT)
        shown: Counter[Any] = Counter(hit.version_number for hit in answer.hits if hit.document_id == document)
        self.looks += 1
        if shown:
            self._seen.add((document, tuple(sorted(shown.items()))))
