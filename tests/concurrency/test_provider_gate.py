"""What one worker learns of a provider, all know: whose turn it is to probe, how long nobody sends, how much all may send."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection

from indexing import provider_gate
from indexing.errors import (
    EmbeddingAuth,
    EmbeddingInputRejected,
    EmbeddingRateLimited,
    EmbeddingTimeout,
    EmbeddingUnavailable,
    IndexingError,
)
from indexing.models import EmbeddingProvider, ProviderEvent
from tests.sessions import Session

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])

HOST = "provider.example:443"


class Requests:
    """Counts what reaches the provider; each request fails with the next of `errors`, or is answered."""

    def __init__(self, *errors: IndexingError) -> None:
        self.errors = list(errors)
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


def never(seconds: float) -> None:
    raise AssertionError(f"waits for {seconds} s")


def send(request: Callable[[], Any], *, task_id: int = 1, texts: int = 1, wait: Callable[[float], None] = never) -> Any:
    return provider_gate.send(request, provider=HOST, texts=texts, task_id=task_id, wait=wait)


def opened(error: type[IndexingError] = EmbeddingAuth) -> None:
    """The breaker is open."""
    with pytest.raises(error):
        send(Requests(error("It answered HTTP 401.")))


def let_pass(column: str, seconds: float = 0.001) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE embedding_provider SET {column} = clock_timestamp() - make_interval(secs => %s) WHERE name = %s",
            [seconds, HOST],
        )


def known() -> EmbeddingProvider:
    return EmbeddingProvider.objects.get(name=HOST)


def test_a_model_in_this_process_passes_without_a_question(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert provider_gate.send(lambda: 1, provider="local", texts=1, task_id=1, wait=never) == 1
        assert provider_gate.send_now(lambda: 1, provider="local") == 1


def test_a_request_costs_one_small_read_while_all_is_well(django_assert_num_queries: Any) -> None:
    send(Requests())
    with django_assert_num_queries(1):
        assert send(Requests()) == "answer"


def test_a_success_is_remembered_once_a_minute() -> None:
    send(Requests())
    first = known().last_success_at
    send(Requests())
    assert known().last_success_at == first
    let_pass("last_success_at", 61)
    send(Requests())
    assert known().last_success_at >= first


def test_the_gate_is_no_place_to_hold_a_lock() -> None:
    """Nothing is locked and no transaction is open while a request is under way."""
    send(Requests())

    def request() -> None:
        assert not connection.in_atomic_block
        with Session() as other:
            other.run(lambda: EmbeddingProvider.objects.filter(name=HOST).update(detail=""))

    send(request)


# The breaker.


def test_an_open_breaker_sends_nothing_and_says_why() -> None:
    opened()
    request = Requests()
    for _ in range(3):
        with pytest.raises(EmbeddingAuth) as caught:
            send(request)
        assert 0 < caught.value.retry_after <= 30
        assert "HTTP 401" in caught.value.detail
    assert request.count == 0


def test_it_opens_once_and_raises_one_alarm(caplog: pytest.LogCaptureFixture) -> None:
    """Five workers get the same refusal: one of them flips the breaker."""
    send(Requests())  # the row is there: making it would let one after the other through as well
    barrier = threading.Barrier(5)

    def refused() -> None:
        barrier.wait(20)
        raise EmbeddingAuth("It answered HTTP 401.")

    def worker() -> None:
        with pytest.raises(EmbeddingAuth):
            send(refused)

    sessions = [Session().__enter__() for _ in range(5)]
    for started in [session.start(worker) for session in sessions]:
        started.result(30)
    for session in sessions:
        session.__exit__(None, None, None)
    alarms = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(alarms) == 1
    assert HOST in alarms[0].getMessage()
    assert list(ProviderEvent.objects.values_list("kind", "code")) == [("opened", "EMBEDDING_AUTH")]
    assert known().openings == 1


def test_three_tasks_that_time_out_open_it_and_the_third_is_not_charged() -> None:
    for task_id in (1, 2):
        with pytest.raises(EmbeddingTimeout):
            send(Requests(EmbeddingTimeout()), task_id=task_id)
    with pytest.raises(EmbeddingUnavailable, match="several tasks"):
        send(Requests(EmbeddingTimeout()), task_id=3)
    assert known().code == "EMBEDDING_TIMEOUT"
    with pytest.raises(EmbeddingUnavailable):
        send(Requests(), task_id=4)


def test_nobody_probes_before_the_pause_is_over() -> None:
    opened()
    request = Requests()
    assert not provider_gate.probe(request, provider=HOST)
    assert request.count == 0


def both_want_the_probe() -> list[bool]:
    """Whether each of two workers gets it, the second asking while the first one's transaction is open."""
    opened()
    let_pass("open_until")
    with Session() as first, Session() as second:
        first.begin()
        tokens = [first.run(take)]
        waiting = second.start(take)
        second.wait_until_blocked()
        first.commit()
        tokens.append(waiting.result(30))
    return [token is not None for token in tokens]


def take() -> str | None:
    return provider_gate._take_probe(HOST, seconds=60, overdue=0)


def test_two_workers_want_the_probe_and_one_gets_it(without: Callable[..., AbstractContextManager[None]]) -> None:
    with without("providers", "take_probe", "AND (probe_until IS NULL OR probe_until <= clock_timestamp())"):
        assert both_want_the_probe() == [True, True], "the race that the guard is against"
    EmbeddingProvider.objects.all().update(open_until=None, since=None, code=None, probe_token=None, probe_until=None)
    assert both_want_the_probe() == [True, False]


def test_a_killed_prober_blocks_nobody_beyond_its_time() -> None:
    opened()
    let_pass("open_until")
    dead = take()
    assert dead is not None
    assert take() is None
    let_pass("probe_until")
    request = Requests()
    assert provider_gate.probe(request, provider=HOST)
    assert request.count == 1
    assert known().open_until is None


def test_a_prober_beyond_its_time_has_no_say_any_more() -> None:
    opened()
    let_pass("open_until")

    def slow() -> None:
        let_pass("probe_until")
        assert take() is not None  # somebody else probes now
        raise EmbeddingUnavailable

    assert provider_gate.probe(slow, provider=HOST)
    assert (known().openings, known().code) == (1, "EMBEDDING_AUTH")
    assert known().probe_token is not None


def test_a_failed_probe_opens_for_longer_and_a_good_one_closes(caplog: pytest.LogCaptureFixture) -> None:
    opened()
    for expected in (60, 120):
        let_pass("open_until")
        assert provider_gate.probe(Requests(EmbeddingUnavailable()), provider=HOST)
        assert expected - 5 < provider_gate.standing(HOST).pause <= expected
    let_pass("open_until")
    assert provider_gate.probe(Requests(), provider=HOST)
    assert send(Requests()) == "answer"
    assert list(ProviderEvent.objects.order_by("id").values_list("kind", flat=True)) == ["opened", "closed"]
    assert [record.levelname for record in caplog.records if record.levelname == "ERROR"] == ["ERROR"]


def test_nothing_is_sent_between_the_end_of_the_pause_and_the_probes_answer() -> None:
    opened()
    let_pass("open_until")

    def probing() -> None:
        with pytest.raises(EmbeddingAuth):
            send(never)  # type: ignore[arg-type]

    assert provider_gate.probe(probing, provider=HOST)


# The cooldown.


def throttled(retry_after: float) -> None:
    with pytest.raises(EmbeddingRateLimited):
        send(Requests(EmbeddingRateLimited(retry_after=retry_after)))


def test_a_long_cooldown_puts_the_others_back_too() -> None:
    throttled(60)
    request = Requests()
    with pytest.raises(EmbeddingRateLimited) as caught:
        send(request, task_id=2)
    assert 50 < caught.value.retry_after <= 60
    assert request.count == 0


def test_a_short_cooldown_is_waited_for() -> None:
    throttled(3)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        let_pass("cooldown_until")

    assert send(Requests(), wait=wait) == "answer"
    assert len(waits) == 1
    assert 0 < waits[0] <= 3


def test_a_worker_that_is_told_to_stop_does_not_wait_nor_send() -> None:
    class Stopping(Exception):
        pass

    def wait(_: float) -> None:
        raise Stopping

    throttled(3)
    request = Requests()
    with pytest.raises(Stopping):
        send(request, wait=wait)
    assert request.count == 0


def test_what_happens_during_a_wait_is_seen_after_it() -> None:
    throttled(3)

    def wait(_: float) -> None:
        let_pass("cooldown_until")
        opened()

    request = Requests()
    with pytest.raises(EmbeddingAuth):
        send(request, wait=wait)
    assert request.count == 0


# The budget.


def spent(settings: Any, count: int, *, requests: int = 0, texts: int = 0, size: int = 1) -> list[float]:
    """The waits of so many requests of `size` texts that come all at once, from two sessions."""
    settings.KB_EMBEDDING_REQUESTS_PER_MINUTE, settings.KB_EMBEDDING_TEXTS_PER_MINUTE = requests, texts
    waits: list[float] = []

    def one() -> None:
        send(Requests(), texts=size, wait=waits.append)

    with Session() as first, Session() as second:
        for number in range(count):
            (first, second)[number % 2].run(one)
    return waits


def test_requests_beyond_the_budget_wait_for_their_turn(settings: Any) -> None:
    """Of 60 a minute six go at once, and then 0.9 a second, whoever sends them."""
    waits = spent(settings, 10, requests=60)
    assert len(waits) == 4
    assert waits == sorted(waits)
    assert waits[3] > 3.9 / 0.9 - 2  # four debts, less what flowed in meanwhile


def test_texts_beyond_the_budget_wait(settings: Any) -> None:
    settings.KB_EMBEDDING_BATCH_SIZE = 32
    assert len(spent(settings, 3, texts=64, size=32)) == 2


def test_without_a_budget_nothing_waits_and_nothing_is_written(settings: Any) -> None:
    assert spent(settings, 50) == []
    assert known().requests_left is None


def test_a_budget_set_later_begins_full(settings: Any) -> None:
    spent(settings, 1)
    assert spent(settings, 6, requests=60) == []


# The search.


def test_a_search_goes_on_at_once_while_the_provider_is_out() -> None:
    opened()
    request = Requests()
    with pytest.raises(EmbeddingAuth):
        provider_gate.send_now(request, provider=HOST)
    let_pass("open_until")
    with pytest.raises(EmbeddingAuth):
        provider_gate.send_now(request, provider=HOST)  # the workers probe
    assert request.count == 0


def test_a_search_goes_on_at_once_during_a_cooldown() -> None:
    throttled(3)
    with pytest.raises(EmbeddingRateLimited):
        provider_gate.send_now(Requests(), provider=HOST)


def test_a_search_probes_where_no_worker_does() -> None:
    opened()
    let_pass("open_until", provider_gate.LATE + 1)
    assert provider_gate.send_now(Requests(), provider=HOST) == "answer"
    assert known().open_until is None


def test_a_search_tells_the_workers_of_a_refused_key_but_of_no_timeout() -> None:
    for _ in range(5):
        with pytest.raises(EmbeddingTimeout):
            provider_gate.send_now(Requests(EmbeddingTimeout()), provider=HOST)
    assert send(Requests()) == "answer"
    with pytest.raises(EmbeddingAuth):
        provider_gate.send_now(Requests(EmbeddingAuth()), provider=HOST)
    with pytest.raises(EmbeddingAuth):
        send(Requests())


def test_a_search_goes_before_the_workers_in_the_budget(settings: Any) -> None:
    settings.KB_EMBEDDING_REQUESTS_PER_MINUTE = 2
    for _ in range(5):
        assert provider_gate.send_now(Requests(), provider=HOST) == "answer"
    waits: list[float] = []
    send(Requests(), wait=waits.append)
    assert waits, "the searches were not counted"


def test_a_refused_text_says_nothing_of_the_provider() -> None:
    for number in range(5):
        with pytest.raises(EmbeddingInputRejected):
            send(Requests(EmbeddingInputRejected()), task_id=number)
    assert send(Requests()) == "answer"
