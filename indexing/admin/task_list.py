"""The list of index tasks, read-only but for two actions: try again, and cancel."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from documents.admin.filters import TenantFilter
from documents.admin.permissions import OverseersOnly
from documents.errors import DocumentsError
from documents.querysets import OVERSEEING_ROLES, tenants_where
from indexing import tasks
from indexing.admin import chunk_page, task_page
from indexing.admin.badges import task_badge
from indexing.messages import error_sentence, progress_words, state_word
from indexing.models import IndexTask
from indexing.states import TaskState

if TYPE_CHECKING:
    TaskModelAdmin = admin.ModelAdmin[IndexTask]
else:
    TaskModelAdmin = admin.ModelAdmin


class TaskStateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, state_word(state)) for state in TaskState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() else queryset


class ErrorFilter(admin.SimpleListFilter):
    """The codes that occur among the tasks that the user sees."""

    title = _("error")
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tasks = model_admin.get_queryset(request).filter(error_code__isnull=False)
        return [(code, code) for code in tasks.order_by("error_code").values_list("error_code", flat=True).distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(error_code=self.value()) if self.value() else queryset


@admin.register(IndexTask)
class IndexTaskAdmin(OverseersOnly, TaskModelAdmin):
    list_display = ["__str__", "what", "badge", "error", "counts", "worker", "next_attempt_at", "updated_at"]
    list_filter = [TaskStateFilter, ErrorFilter, "pool", "task_type", TenantFilter]
    list_select_related = ["document", "tenant"]
    list_per_page = 50
    search_fields = ["document__title", "lease_owner"]
    search_help_text = _("Search by the document's title or the worker's name")
    ordering = ["-updated_at", "-id"]
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    actions = ["retry_dead_tasks", "cancel_tasks"]

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="indexing_indextask_changelist"),
            path("<int:task_id>/change/", wrap(self.page), name="indexing_indextask_change"),
            path("<int:task_id>/retry/", wrap(self.retry), name="indexing_indextask_retry"),
            path("<int:task_id>/cancel/", wrap(self.cancel), name="indexing_indextask_cancel"),
            path("chunks/<uuid:document_id>/", wrap(self.chunks), name="indexing_chunks"),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[IndexTask]:
        return IndexTask.objects.filter(tenant__in=tenants_where(request.user, OVERSEEING_ROLES))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": _("Index tasks"), **(extra_context or {})})

    def has_retry_dead_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("indexing.retry_dead_tasks")

    def has_oversee_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("document"), ordering="document__title")
    def what(self, task: IndexTask) -> str:
        return f"{task.document.title} v{task.version_number}"

    @admin.display(description=_("state"), ordering="state")
    def badge(self, task: IndexTask) -> str:
        if task.state != TaskState.RUNNING:
            return task_badge(task.state)
        progress = progress_words(task.stage, task.progress_done, task.progress_total)
        return format_html("{}<br><small>{}</small>", task_badge(task.state), progress)

    @admin.display(description=_("attempts, failures"), ordering="attempts")
    def counts(self, task: IndexTask) -> str:
        return f"{task.attempts}, {task.failures}/{task.max_failures}"

    @admin.display(description=_("worker, lease until"), ordering="lease_until")
    def worker(self, task: IndexTask) -> str:
        if task.lease_until is None:
            return "–"
        until = date_format(localtime(task.lease_until), "H:i:s")
        return format_html("{}<br><small>{}</small>", task.lease_owner, until)

    @admin.display(description=_("error"), ordering="error_code")
    def error(self, task: IndexTask) -> str:
        if not task.error_code:
            return "–"
        return format_html(
            "{}<br><small>{}</small>", task.error_code, error_sentence(task.error_code, task.error_message)
        )

    @admin.action(description=_("Retry dead tasks"), permissions=["retry_dead"])
    def retry_dead_tasks(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> None:
        dead = queryset.filter(state=TaskState.DEAD)
        done, refused = _each(request, dead, tasks.retry_task)
        if done:
            said = ngettext("%(count)d task is tried again.", "%(count)d tasks are tried again.", done)
            messages.success(request, said % {"count": done})
        elif not refused:
            messages.warning(request, gettext("None of the selected tasks is dead; nothing was changed."))
        _report(request, refused)

    @admin.action(description=_("Cancel tasks"), permissions=["oversee"])
    def cancel_tasks(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> None:
        done, refused = _each(request, queryset, tasks.cancel_task)
        if done:
            said = ngettext("%(count)d task is cancelled.", "%(count)d tasks are cancelled.", done)
            messages.success(request, said % {"count": done})
        _report(request, refused)

    def page(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        task = self.get_queryset(request).select_related("document", "tenant", "pipeline").filter(pk=task_id).first()
        if task is None:
            raise Http404
        return task_page.show(request, task, self.admin_site.each_context(request))

    def retry(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        return task_page.command(request, task_id, tasks.retry_task, gettext("The task is tried again."))

    def cancel(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        done = gettext("The task is cancelled; one that runs stops before its next step.")
        return task_page.command(request, task_id, tasks.cancel_task, done)

    def chunks(self, request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
        return chunk_page.show(request, document_id, self.admin_site.each_context(request))


def _each(
    request: HttpRequest, chosen: QuerySet[IndexTask], run: Callable[..., IndexTask]
) -> tuple[int, dict[str, int]]:
    """Run a command on each task in a transaction of its own: one that is refused stops no other."""
    done, refused = 0, dict[str, int]()
    for task_id in list(chosen.order_by("id").values_list("id", flat=True)):
        try:
            run(actor=request.user, task_id=task_id)
            done += 1
        except DocumentsError as error:
            refused[error.message] = refused.get(error.message, 0) + 1
    return done, refused


def _report(request: HttpRequest, refused: dict[str, int]) -> None:
    for reason, count in refused.items():
        messages.warning(request, gettext("Refused for %(count)d: %(reason)s") % {"count": count, "reason": reason})
