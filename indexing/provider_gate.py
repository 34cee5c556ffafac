"""The gate before every request to an embedding provider: what one worker learns of it, all know.

A model in this process needs none and passes at once. Elsewhere a request costs one small read, and a write only where its
answer changes something or a budget is set. Every transaction is short, its own, and over before the request is sent. Within
an attempt it is run again on a lost connection: at worst an outage or a request is counted twice.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction

from indexing.breaker import Budget, Health, after
from indexing.errors import (
    EmbeddingAuth,
    EmbeddingRateLimited,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
)
from indexing.provider_models import ProviderEvent
from indexing.retrying import retrying
from indexing.statements import row

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

IN_PROCESS = "local"  # the name of the provider that is none
PATIENCE = 5.0  # seconds of a provider's cooldown that an attempt waits for; for longer ones the task is put back
LONGEST_YIELD = 60.0  # seconds that a bulk run's attempt waits for the others to leave it some of the budget
LATE = 60.0  # seconds after which a probe that no worker has sent is left to a search: no worker runs


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about a provider right now. Seconds are from now; zero or less: over."""

    code: str | None = None  # why its breaker is open
    detail: str = ""
    since: datetime | None = None  # when its breaker opened
    open_for: float | None = None  # None: closed
    probe_for: float | None = None  # somebody probes; None: nobody
    cooldown: float = 0.0
    settled: bool = False  # a success would tell nothing new

    @property
    def pauses(self) -> bool:
        """Whether work for it had better stay where it is."""
        return self.open_for is not None or self.cooldown > PATIENCE

    @property
    def pause(self) -> float:
        """Seconds until something about its pause changes; 0 where a probe is due."""
        if self.open_for is None:
            return max(0.0, self.cooldown - PATIENCE)
        return max(0.0, self.open_for, self.probe_for or 0.0)

    def refuse_if_open(self) -> None:
        """Raise what the breaker was opened with, as a fault of the provider that is charged to no document."""
        if self.open_for is not None:
            error = EmbeddingAuth if self.code == EmbeddingAuth.code else EmbeddingUnavailable
            raise error(self.detail, retry_after=self.pause)


def standing(provider: str) -> Standing:
    """What all workers know about `provider`."""
    found = row("providers", "look", provider=provider)
    return Standing(**found) if found else Standing()


def send(
    request: Callable[[], Answer],
    *,
    provider: str,
    texts: int,
    task_id: int,
    wait: Callable[[float], None],
    yields: bool = False,
) -> Answer:
    """The answer of `request`, which sends `texts` texts, once the provider's breaker, cooldown and budget let it go.

    `wait` sleeps for some seconds, and raises to end the attempt. Waiting for the budget has no bound: a worker that waits
    is what keeps the others' tasks in the queue.

    `yields`: nobody waits for the answer (a bulk run). It takes only what is there, with half of a full budget left in it, so
    that a publish finds its share without waiting; it never goes into debt, and puts its task back rather than wait for long.

    Raises what `request` and `wait` raise, `EmbeddingRateLimited` for a cooldown beyond `PATIENCE` or a budget that others
    need for longer than `LONGEST_YIELD`, and what the breaker was opened with.
    """
    if provider == IN_PROCESS:
        return request()
    is_paid, yielded = False, 0.0
    while True:
        found = retrying(lambda: standing(provider))
        found.refuse_if_open()
        if found.cooldown > PATIENCE:
            raise EmbeddingRateLimited(retry_after=found.cooldown)
        delay = found.cooldown
        if delay <= 0 and not is_paid:
            delay = retrying(lambda: (_spend_spare if yields else _spend)(provider, texts))
            is_paid = delay <= 0 or not yields
            yielded += 0.0 if is_paid else delay
        if yielded > LONGEST_YIELD:
            raise EmbeddingRateLimited(retry_after=LONGEST_YIELD)
        if delay <= 0:
            return _ask(request, provider, found, task_id=task_id)
        wait(delay)


def send_now(request: Callable[[], Answer], *, provider: str) -> Answer:
    """The answer of `request`, a search that sends its query at once or not at all. It is counted in the budget, and goes
    before the workers there. Where no worker probes a provider that is out, a search does.

    Raises what `request` raises, `EmbeddingRateLimited` during a cooldown, and what the breaker was opened with.
    """
    if provider == IN_PROCESS:
        return request()
    found = standing(provider)
    token = None
    if found.open_for is not None and found.open_for <= -LATE:
        token = _take_probe(provider, seconds=2 * settings.KB_SEARCH_EMBEDDING_TIMEOUT, overdue=LATE)
    if token is None:
        found.refuse_if_open()
        if found.cooldown > 0:
            raise EmbeddingRateLimited(retry_after=found.cooldown)
    _spend(provider, 1)
    return _ask(request, provider, found, token=token)


def probe(request: Callable[[], object], *, provider: str) -> bool:
    """Send the one probe of a half-open breaker; its answer closes or opens it. False if it is not due, or somebody else's."""
    token = _take_probe(provider, seconds=2 * settings.KB_EMBEDDING_TIMEOUT, overdue=0.0)
    if token is None:
        return False
    logger.info("embedding provider %s: probing", provider)
    _spend(provider, 1)
    try:
        _ask(request, provider, Standing(), token=token)
    except IndexingError as error:
        logger.info("embedding provider %s: the probe failed: %s", provider, error)
    return True


def _take_probe(provider: str, *, seconds: float, overdue: float) -> str | None:
    """A token for the right to probe, for `seconds`; None if there is none to have."""
    token = uuid.uuid4().hex
    taken = row("providers", "take_probe", provider=provider, token=token, lease=seconds, overdue=overdue)
    return token if taken else None


def _spend(provider: str, texts: int) -> float:
    """Take a request from the budget; after how many seconds it may go."""
    costs = _costs(provider, texts)
    if costs is None:
        return 0.0
    found = row("providers", "spend", **costs)
    assert found is not None, "the statement always returns a row"
    seconds: float = found["seconds"]
    return seconds


def _spend_spare(provider: str, texts: int) -> float:
    """Take a request from what the others leave of the budget: 0, or after how many seconds to try again."""
    costs = _costs(provider, texts)
    if costs is None:
        return 0.0
    requests, words = _budgets()
    found = row("providers", "spend_spare", **costs, requests_kept=requests.kept(1), texts_kept=words.kept(texts))
    if found is None:
        return _spend(provider, texts)
    seconds: float = found["seconds"]
    return seconds


def _budgets() -> tuple[Budget, Budget]:
    return (
        Budget(settings.KB_EMBEDDING_REQUESTS_PER_MINUTE, 1),
        Budget(settings.KB_EMBEDDING_TEXTS_PER_MINUTE, settings.KB_EMBEDDING_BATCH_SIZE),
    )


def _costs(provider: str, texts: int) -> dict[str, Any] | None:
    """What a request takes from the budget, and how that fills again; None without a budget."""
    requests, words = _budgets()
    if not requests.limit and not words.limit:
        return None
    return {
        "provider": provider,
        "requests": requests.cost(1),
        "request_capacity": requests.capacity,
        "requests_per_second": requests.per_second,
        "texts": words.cost(texts),
        "text_capacity": words.capacity,
        "texts_per_second": words.per_second,
    }


def _ask(
    request: Callable[[], Answer],
    provider: str,
    found: Standing,
    *,
    task_id: int | None = None,
    token: str | None = None,
) -> Answer:
    try:
        answer = request()
    except IndexingError as error:
        if _enter(provider, error, task_id=task_id, token=token) and isinstance(error, EmbeddingTimeout):
            # By now it is the provider that does not answer, not this document that takes too long.
            raise EmbeddingUnavailable("It did not answer several tasks in a row.") from error
        raise
    if not found.settled:
        _enter(provider, None, task_id=task_id, token=token)
    return answer


def _enter(provider: str, error: IndexingError | None, *, task_id: int | None, token: str | None) -> bool:
    """Enter how a request ended into what is known about the provider; whether that opened its breaker.

    Whoever opens it raises the alarm: one line of level ERROR, and one event.
    """
    meant: set[str] = (
        set()
    )  # a try may have been committed without our hearing of it: the next finds it done, and still tells
    retrying(lambda: _enter_once(provider, error, task_id=task_id, token=token, meant=meant))
    if "opened" in meant:
        logger.error("embedding provider %s: nothing is sent to it any more: %s", provider, error)
    if "closed" in meant:
        logger.warning("embedding provider %s: it answers again", provider)
    return "opened" in meant


@transaction.atomic
def _enter_once(
    provider: str, error: IndexingError | None, *, task_id: int | None, token: str | None, meant: set[str]
) -> None:
    """One try of `_enter`; what it does to the breaker is added to `meant` before the commit."""
    row("providers", "meet", provider=provider)
    known = row("providers", "lock", provider=provider)
    assert known is not None, "the row was made above and is never deleted"
    if token != known.pop("probe_token") and token is not None:
        return  # the probe took longer than its right to probe, and another one has its say
    before = Health(**{**known, "timed_out": tuple(known["timed_out"])})
    now = after(before, error, task_id=task_id, is_probe=token is not None)
    if error is not None and now == before:
        return
    row(
        "providers",
        "store",
        provider=provider,
        **{**asdict(now), "timed_out": list(now.timed_out)},
        probe_over=token is not None,
        succeeded=error is None,
    )
    if now.is_open != before.is_open:
        kind = "opened" if now.is_open else "closed"
        ProviderEvent.objects.create(provider=provider, kind=kind, code=now.code, detail=now.detail)
        meant.add(kind)
