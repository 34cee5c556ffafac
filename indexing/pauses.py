"""What people are told about a provider that is paused, and what they may do about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from documents.errors import Conflict, NotAllowed
from documents.querysets import OPERATING_ROLES, User, tenants_where
from indexing import provider_gate, queue
from indexing.errors import EmbeddingAuth
from indexing.pipelines import pipelines_by_provider
from indexing.provider_gate import Standing
from indexing.provider_models import ProviderEvent
from indexing.providers import endpoint_providers
from indexing.statements import row


@dataclass(frozen=True, slots=True)
class Pause:
    """Why tasks of some pipelines stay where they are."""

    provider: str
    pipelines: frozenset[int]
    sentence: str  # what happened, that nothing is lost, and what ends it


def current() -> list[Pause]:
    """Of the providers that the settings name, those that are paused."""
    if not endpoint_providers():
        return []
    pauses = []
    for provider, pipelines in pipelines_by_provider().items():
        if provider is not None and (found := provider_gate.standing(provider)).pauses:
            pauses.append(Pause(provider, frozenset(pipeline.pk for pipeline in pipelines), sentence_of(found)))
    return pauses


def sentence_of(found: Standing) -> str:
    """What an editor reads about a provider that is paused."""
    if found.since is None:
        until = _clock(timezone.now() + timedelta(seconds=found.cooldown))
        return _(
            "The embedding provider asked for a pause until %(until)s. Nothing is lost: it goes on by itself then."
        ) % {"until": until}
    since = {"since": _clock(found.since)}
    if found.code == EmbeddingAuth.code:
        return (
            _(
                "The embedding provider has refused our key since %(since)s. Nothing is lost: it goes on by itself once an "
                "operator has corrected the key."
            )
            % since
        )
    return (
        _(
            "The embedding provider has been out of order since %(since)s. Nothing is lost: it goes on by itself once the "
            "provider answers again."
        )
        % since
    )


def may_try(actor: User) -> bool:
    """Operators of any tenant: the provider serves them all, and a try costs one request."""
    return tenants_where(actor, OPERATING_ROLES).exists()


@transaction.atomic
def try_now(*, actor: User, provider: str) -> None:
    """End a provider's pause: a worker probes it at once, and its cooldown is over.

    Raises `NotAllowed`, or `Conflict` if it is not paused.
    """
    if not may_try(actor):
        raise NotAllowed
    if row("providers", "try_now", provider=provider) is None:
        raise Conflict(_("The embedding provider is not paused; there is nothing to try."))
    ProviderEvent.objects.create(provider=provider, kind="asked", actor_id=actor.pk, actor_name=actor.get_username())
    queue.wake_workers()


def _clock(at: datetime) -> str:
    return date_format(timezone.localtime(at), "Y-m-d H:i")
