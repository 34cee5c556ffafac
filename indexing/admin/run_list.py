"""Bulk runs with their progress, and the documents of each with what became of them. To be looked at, not changed: runs are
started and stopped by `manage.py recompute`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop as noop

from documents.admin.permissions import OverseersOnly
from documents.models import Document
from documents.querysets import OVERSEEING_ROLES, tenants_where
from indexing import recompute
from indexing.admin.badges import badge
from indexing.messages import error_sentence
from indexing.recompute import Where
from indexing.recompute_models import RecomputeItem, RecomputeRun
from indexing.states import ItemOutcome

if TYPE_CHECKING:
    RunModelAdmin = admin.ModelAdmin[RecomputeRun]
    ItemModelAdmin = admin.ModelAdmin[RecomputeItem]
else:
    RunModelAdmin = ItemModelAdmin = admin.ModelAdmin

NOTHING = format_html('<span class="kb-nothing">{}</span>', "–")

# A colour of the badges, a sign, a word.
OUTCOMES = {
    ItemOutcome.PENDING: ("indexing", "…", noop("Pending")),
    ItemOutcome.APPLIED: ("searchable", "✓", noop("Applied")),
    ItemOutcome.SKIPPED_NEWER: ("unpublished", "↷", noop("Skipped: newer version")),
    ItemOutcome.DELETED: ("cancelled", "■", noop("Deleted or withdrawn")),
    ItemOutcome.FAILED: ("failed", "!", noop("Failed")),
}
REASONS = {
    "CURRENT": noop("It was searchable at this version already."),
    "ANOTHER_ORDER": noop("Another task made the same."),
    "TASK_REMOVED": noop("Its task is no longer on record."),
}


class OutcomeFilter(admin.SimpleListFilter):
    title = _("outcome")
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(outcome.value, gettext(word)) for outcome, (_colour, _sign, word) in OUTCOMES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(outcome=self.value()) if self.value() else queryset


class RunFilter(admin.SimpleListFilter):
    """The newest runs that the user sees."""

    title = _("bulk run")
    parameter_name = "run"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(pk), str(pk)) for pk in _runs_seen(request).order_by("-pk").values_list("pk", flat=True)[:20]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        number = self.value() or ""
        return queryset.filter(run=int(number)) if number.isdecimal() and len(number) < 19 else queryset


@admin.register(RecomputeRun)
class RecomputeRunAdmin(OverseersOnly, RunModelAdmin):
    list_display = ["number", "what", "state", "counts", "started"]
    list_display_links = None
    list_select_related = ["pipeline", "tenant"]
    list_per_page = 10  # each row counts its documents
    ordering = ["-id"]
    actions = None
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="indexing_recomputerun_changelist")]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecomputeRun]:
        return _runs_seen(request)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Bulk runs"), **(extra_context or {})})

    @admin.display(description=_("run"), ordering="id")
    def number(self, run: RecomputeRun) -> str:
        kind = gettext("everything anew") if run.rebuild else gettext("what is missing")
        return format_html("{}<br><small>{}</small>", run.pk, kind)

    @admin.display(description=_("pipeline"))
    def what(self, run: RecomputeRun) -> str:
        whose = run.tenant.name if run.tenant else gettext("all tenants")
        lines = [whose, *_narrowed(run)]
        return format_html("{}<br><small>{}</small>", run.pipeline.name, "; ".join(lines))

    @admin.display(description=_("state"))
    def state(self, run: RecomputeRun) -> str:
        if run.ended_at:
            return badge("searchable", "✓", gettext("Ended"))
        if run.stopped_at:
            return badge("cancelled", "■", gettext("Stopped"))
        if not run.listed_at:
            return badge("indexing", "…", gettext("Making its list"))
        return badge("indexing", "↻", gettext("Running"))

    @admin.display(description=_("documents"))
    def counts(self, run: RecomputeRun) -> str:
        counts = recompute.progress(run) if run.ended_at else recompute.refresh(run, briefly=True)
        done = ngettext("%(done)s of %(total)s document", "%(done)s of %(total)s documents", counts.total) % {
            "done": number_format(counts.total - counts.pending),
            "total": number_format(counts.total),
        }
        links = [
            (
                reverse("admin:indexing_recomputeitem_changelist"),
                run.pk,
                outcome.value,
                gettext(word),
                number_format(count),
            )
            for outcome, (_colour, _sign, word) in OUTCOMES.items()
            if (count := getattr(counts, outcome.value))
        ]
        told = format_html_join(", ", '<a href="{}?run={}&outcome={}">{}: {}</a>', links)
        return format_html("{}<br><small>{}</small>", done, told)

    @admin.display(description=_("started"), ordering="started_at")
    def started(self, run: RecomputeRun) -> str:
        at = date_format(localtime(run.started_at), "Y-m-d H:i:s")
        return format_html("{}<br><small>{}</small>", at, run.actor_name or gettext("on the command line"))


@admin.register(RecomputeItem)
class RecomputeItemAdmin(OverseersOnly, ItemModelAdmin):
    list_display = ["document", "badge", "why", "task", "run_number"]
    list_display_links = None
    list_filter = [OutcomeFilter, RunFilter]
    list_per_page = 50
    ordering = ["-id"]
    actions = None
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="indexing_recomputeitem_changelist")]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False  # reached from the runs: no entry in the menu

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecomputeItem]:
        title = Document.objects.filter(pk=OuterRef("document_id")).values("title")
        seen = tenants_where(request.user, OVERSEEING_ROLES).values("pk")
        return RecomputeItem.objects.filter(tenant_id__in=seen).annotate(title=Subquery(title[:1]))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Documents of bulk runs"), **(extra_context or {})})

    @admin.display(description=_("document"))
    def document(self, item: Any) -> str:
        return format_html(
            '<a href="{}">{} v{}</a>',
            reverse("admin:documents_document_change", args=[item.document_id]),
            item.title or item.document_id,
            item.version_number,
        )

    @admin.display(description=_("outcome"))
    def badge(self, item: RecomputeItem) -> str:
        colour, sign, word = OUTCOMES[ItemOutcome(item.outcome)]
        return badge(colour, sign, gettext(word))

    @admin.display(description=_("reason"))
    def why(self, item: RecomputeItem) -> str:
        if not item.reason:
            return NOTHING
        return gettext(REASONS[item.reason]) if item.reason in REASONS else error_sentence(item.reason, None, None)

    @admin.display(description=_("index task"))
    def task(self, item: RecomputeItem) -> str:
        if item.task_id is None:
            return NOTHING
        page = reverse("admin:indexing_indextask_change", args=[item.task_id])
        return format_html(
            '<span class="kb-label">{}</span> <a href="{}">{}</a>', gettext("index task"), page, item.task_id
        )

    @admin.display(description=_("bulk run"))
    def run_number(self, item: RecomputeItem) -> str:
        return format_html('<span class="kb-label">{}</span> {}', gettext("bulk run"), item.run_id)


def _runs_seen(request: HttpRequest) -> QuerySet[RecomputeRun]:
    """A run of all tenants tells of each of them: it is for administrators of the site."""
    runs = RecomputeRun.objects.all()
    if request.user.is_active and request.user.is_superuser:
        return runs
    return runs.filter(tenant__in=tenants_where(request.user, OVERSEEING_ROLES))


def _narrowed(run: RecomputeRun) -> list[str]:
    """What narrows the documents of a run down, in words."""
    where = Where.from_json(run.chosen)
    words = [*where.media_types, *where.sources]
    if where.documents:
        words.append(
            ngettext("%(count)d document by name", "%(count)d documents by name", len(where.documents))
            % {"count": len(where.documents)}
        )
    if where.indexed_before:
        moment = date_format(localtime(where.indexed_before), "Y-m-d H:i")
        words.append(gettext("indexed before %(time)s") % {"time": moment})
    if where.shard != (1, 1):
        words.append(gettext("part %(number)d of %(of)d") % {"number": where.shard[0], "of": where.shard[1]})
    return words
