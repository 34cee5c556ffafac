"""The list of embedding providers and the page of each: what all workers know of it, and one action, to try again now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.db.models import Case, IntegerField, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from documents.admin.permissions import OverseersOnly
from documents.errors import DocumentsError
from documents.querysets import OVERSEEING_ROLES, tenants_where
from indexing import pauses, provider_gate
from indexing.admin.badges import badge
from indexing.messages import error_sentence
from indexing.models import IndexTask
from indexing.pipelines import pipelines_by_provider
from indexing.provider_gate import Standing
from indexing.provider_models import EmbeddingProvider, ProviderEvent
from indexing.providers import endpoint_providers
from indexing.states import TaskState

EVENTS = 100  # newest events shown

if TYPE_CHECKING:
    ProviderModelAdmin = admin.ModelAdmin[EmbeddingProvider]
else:
    ProviderModelAdmin = admin.ModelAdmin

NOTHING = format_html('<span class="kb-nothing">{}</span>', "–")  # left out where cells stand below each other

# A colour of the badges, a sign, a word.
WORKING, COOLING, OUT, UNUSED = (
    ("searchable", "✓", noop("Working")),
    ("indexing", "…", noop("Asked for a pause")),
    ("failed", "!", noop("Out of order")),
    ("unpublished", "○", noop("Not in use")),
)
KINDS = {
    "opened": noop("Nothing is sent to it any more"),
    "closed": noop("It answers again"),
    "asked": noop("Somebody asked to try again"),
}


@dataclass(frozen=True, slots=True)
class Event:
    at: datetime
    words: str
    sentence: str
    actor: str


@admin.register(EmbeddingProvider)
class EmbeddingProviderAdmin(OverseersOnly, ProviderModelAdmin):
    list_display = ["name", "badge", "reason", "next_try", "waiting", "last_success", "try_now_button"]
    ordering = ["name"]
    actions = None
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="indexing_embeddingprovider_changelist"),
            path("<path:provider>/change/", wrap(self.page), name="indexing_embeddingprovider_change"),
            path("<path:provider>/try/", wrap(self.try_now), name="indexing_embeddingprovider_try"),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[EmbeddingProvider]:
        """With what depends on who looks: the waiting tasks of their tenants, and whether they may try."""
        used = set(endpoint_providers().values())
        seen = IndexTask.objects.filter(
            tenant__in=tenants_where(request.user, OVERSEEING_ROLES),
            state__in=[TaskState.PENDING, TaskState.RETRY_WAIT],
        )
        behind = pipelines_by_provider()
        waiting = [
            When(name=name, then=Value(seen.filter(pipeline__in=behind.get(name, [])).count())) for name in sorted(used)
        ]
        return EmbeddingProvider.objects.annotate(
            is_used=Case(When(name__in=used, then=Value(True)), default=Value(False)),
            tasks=Case(*waiting, default=None, output_field=IntegerField()),
            may_try=Value(pauses.may_try(request.user)),
        )

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Embedding providers"), **(extra_context or {})})

    @admin.display(description=_("state"))
    def badge(self, provider: Any) -> str:
        colour, sign, word = _look(provider, _standing(provider))
        return badge(colour, sign, gettext(word))

    @admin.display(description=_("reason"))
    def reason(self, provider: Any) -> str:
        return _reason(_standing(provider)) or NOTHING

    @admin.display(description=_("next try"))
    def next_try(self, provider: Any) -> str:
        return _labelled(gettext("next try"), _clock(_next_try(provider)))

    @admin.display(description=_("tasks waiting"))
    def waiting(self, provider: Any) -> str:
        return _labelled(gettext("tasks waiting"), "" if provider.tasks is None else str(provider.tasks))

    @admin.display(description=_("last success"))
    def last_success(self, provider: Any) -> str:
        return _labelled(gettext("last success"), _clock(provider.last_success_at))

    @admin.display(description="")
    def try_now_button(self, provider: Any) -> str:
        """Sends the list's own form, which holds the token against forged requests, to another address."""
        if not _can_try(provider):
            return NOTHING
        return format_html(
            '<button type="submit" class="button" formaction="{}">{}</button>',
            _try_url(provider),
            gettext("Try again now"),
        )

    def page(self, request: HttpRequest, provider: str) -> HttpResponseBase:
        found: Any = self.get_queryset(request).filter(pk=unquote(provider)).first()
        if found is None or not self.has_view_permission(request):
            raise Http404
        context = {
            **self.admin_site.each_context(request),
            "title": found.name,
            "provider": found,
            "badge": self.badge(found),
            "reason": _reason(_standing(found)),
            "next_try": _next_try(found),
            "try_url": _try_url(found) if _can_try(found) else "",
            "events": [_event(event) for event in ProviderEvent.objects.filter(provider=found.name)[:EVENTS]],
        }
        return TemplateResponse(request, "admin/indexing/embeddingprovider/page.html", context)

    def try_now(self, request: HttpRequest, provider: str) -> HttpResponseBase:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            pauses.try_now(actor=request.user, provider=unquote(provider))
        except DocumentsError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, gettext("A worker tries the embedding provider again now."))
        return redirect("admin:indexing_embeddingprovider_changelist")


def _standing(provider: Any) -> Standing:
    """Asked once for a row of the list or a page, whose cells then agree."""
    if not hasattr(provider, "standing"):
        provider.standing = provider_gate.standing(provider.name)
    found: Standing = provider.standing
    return found


def _look(provider: Any, found: Standing) -> tuple[str, str, str]:
    if not provider.is_used:
        return UNUSED
    if found.open_for is not None:
        return OUT
    return COOLING if found.cooldown > 0 else WORKING


def _reason(found: Standing) -> str:
    """What went wrong and what follows, with what the provider said."""
    if found.open_for is None and found.cooldown <= 0:
        return ""
    return f"{pauses.sentence_of(found)} {found.detail}".strip()


def _next_try(provider: EmbeddingProvider) -> datetime | None:
    """When the next request may go; it is a probe if the provider is out of order."""
    return provider.probe_until or provider.open_until or provider.cooldown_until


def _can_try(provider: Any) -> bool:
    found = _standing(provider)
    return bool(provider.may_try and provider.is_used and (found.open_for is not None or found.cooldown > 0))


def _try_url(provider: Any) -> str:
    return reverse("admin:indexing_embeddingprovider_try", args=[quote(provider.name)])


def _event(event: ProviderEvent) -> Event:
    words = gettext(KINDS[event.kind])
    sentence = f"{error_sentence(event.code)} {event.detail}".strip()
    return Event(event.at, words, sentence, event.actor_name)


def _labelled(label: str, words: str) -> str:
    """The label is seen where cells stand below each other."""
    return format_html('<span class="kb-label">{}</span> {}', label, words) if words else NOTHING


def _clock(at: datetime | None) -> str:
    return date_format(localtime(at), "Y-m-d H:i:s") if at else ""
