"""The list of index tasks, read-only but for two actions: try again, and cancel."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import OperationalError
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
from documents.api import problems
from documents.errors import DocumentsError
from documents.outages import changed_nothing
from documents.querysets import OVERSEEING_ROLES, tenants_where
from indexing import pauses, pools, tasks
from indexing.admin import chunk_page, page_picture, task_page
from indexing.admin.badges import is_being_cancelled, task_badge
from indexing.admin.confirmation import CANCEL, RETRY, ask, ask_for_many
from indexing.messages import POOLS, TYPES, error_sentence, progress_words, state_word
from indexing.models import IndexTask
from indexing.states import TaskState

NOTHING = format_html('<span class="kb-nothing">{}</span>', "–")  # left out where cells stand below each other

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


class PoolFilter(admin.SimpleListFilter):
    title = _("pool")
    parameter_name = "pool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(pool, gettext(POOLS.get(pool, pool))) for pool in pools.known_pools()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(pool=self.value()) if self.value() else queryset


class TypeFilter(admin.SimpleListFilter):
    title = _("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, gettext(word)) for kind, word in TYPES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(task_type=self.value()) if self.value() else queryset


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
    list_display = ["number", "what", "badge", "error", "counts", "worker", "changed"]
    list_filter = [TaskStateFilter, ErrorFilter, PoolFilter, TypeFilter, TenantFilter]
    list_select_related = ["document", "tenant"]
    list_per_page = 50
    search_fields = ["document__title", "lease_owner"]
    search_help_text = _("Search by the document's title or the worker's name")
    ordering = ["-id"]  # newest first; an index on the time of the last change would make every renewal dearer
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    actions = ["retry_dead_tasks", "cancel_tasks", "move_to_front", "move_to_back"]

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="indexing_indextask_changelist"),
            path("<int:task_id>/change/", wrap(self.page), name="indexing_indextask_change"),
            path("<int:task_id>/retry/", wrap(self.retry), name="indexing_indextask_retry"),
            path("<int:task_id>/cancel/", wrap(self.cancel), name="indexing_indextask_cancel"),
            path("chunks/<uuid:document_id>/", wrap(self.chunks), name="indexing_chunks"),
            path(
                "chunks/<uuid:document_id>/v<int:version_number>/<int:page>.png",
                wrap(page_picture.show, cacheable=True),
                name="indexing_page_picture",
            ),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[IndexTask]:
        return IndexTask.objects.filter(tenant__in=tenants_where(request.user, OVERSEEING_ROLES))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method == "GET":
            _warn_of_unattended_pools(request)
        return super().changelist_view(request, {"title": _("Index tasks"), **(extra_context or {})})

    def has_retry_dead_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("indexing.retry_dead_tasks")

    def has_oversee_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    @admin.display(description=_("task"), ordering="id")
    def number(self, task: IndexTask) -> str:
        return format_html("{}<br><small>{}</small>", task.pk, gettext(TYPES[task.task_type]))

    @admin.display(description=_("document"), ordering="document__title")
    def what(self, task: IndexTask) -> str:
        return f"{task.document.title} v{task.version_number}"

    @admin.display(description=_("state"), ordering="state")
    def badge(self, task: IndexTask) -> str:
        more = ""
        if task.state == TaskState.RUNNING:
            more = progress_words(task.stage, task.progress_done, task.progress_total)
        elif task.next_attempt_at:
            more = gettext("until %(time)s") % {"time": _clock(task.next_attempt_at)}
        return format_html("{}<br><small>{}</small>", task_badge(task), more) if more else task_badge(task)

    @admin.display(description=_("attempts, failures"), ordering="attempts")
    def counts(self, task: IndexTask) -> str:
        counted = f"{task.attempts}, {task.failures}/{task.max_failures}"
        return format_html('<span class="kb-label">{}</span> {}', gettext("attempts, failures"), counted)

    @admin.display(description=_("worker, lease until"), ordering="lease_until")
    def worker(self, task: IndexTask) -> str:
        if task.lease_until is None:
            return NOTHING
        return format_html("{}<br><small>{}</small>", task.lease_owner, _clock(task.lease_until))

    @admin.display(description=_("changed"), ordering="updated_at")
    def changed(self, task: IndexTask) -> str:
        return date_format(localtime(task.updated_at), "Y-m-d H:i:s")

    @admin.display(description=_("error"), ordering="error_code")
    def error(self, task: IndexTask) -> str:
        if not task.error_code:
            return NOTHING
        return format_html(
            "{}<br><small>{}</small>",
            task.error_code,
            error_sentence(task.error_code, task.error_message, task.error_places),
        )

    @admin.action(description=_("Retry failed tasks"), permissions=["retry_dead"])
    def retry_dead_tasks(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> HttpResponseBase | None:
        dead = queryset.filter(state=TaskState.DEAD)
        site = self.admin_site.each_context(request)
        if dead.exists() and (asked := ask_for_many(request, dead, "retry_dead_tasks", RETRY, site)):
            return asked
        done, refused = _each(request, dead, tasks.retry_task)
        if done:
            said = ngettext("%(count)d task is tried again.", "%(count)d tasks are tried again.", len(done))
            messages.success(request, said % {"count": len(done)})
        elif not refused:
            messages.warning(request, gettext("None of the selected tasks has failed; nothing was changed."))
        _report(request, refused)
        return None

    @admin.action(description=_("Cancel tasks"), permissions=["oversee"])
    def cancel_tasks(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> HttpResponseBase | None:
        site = self.admin_site.each_context(request)
        if asked := ask_for_many(request, queryset, "cancel_tasks", CANCEL, site):
            return asked
        done, refused = _each(request, queryset, tasks.cancel_task)
        stopping = sum(map(is_being_cancelled, done))
        if cancelled := len(done) - stopping:
            said = ngettext("%(count)d task is cancelled.", "%(count)d tasks are cancelled.", cancelled)
            messages.success(request, said % {"count": cancelled})
        if stopping:
            said = ngettext(
                "%(count)d running task is being cancelled: its worker stops before the next step.",
                "%(count)d running tasks are being cancelled: their workers stop before the next step.",
                stopping,
            )
            messages.success(request, said % {"count": stopping})
        _report(request, refused)
        return None

    @admin.action(description=_("Move to the front"), permissions=["oversee"])
    def move_to_front(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> None:
        _prioritise(request, queryset, tasks.FRONT)

    @admin.action(description=_("Move to the back"), permissions=["oversee"])
    def move_to_back(self, request: HttpRequest, queryset: QuerySet[IndexTask]) -> None:
        _prioritise(request, queryset, tasks.BACK)

    def page(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        task = self._shown(request, task_id)
        return task_page.show(request, task, self.admin_site.each_context(request))

    def retry(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        if request.method == "GET":
            return ask(request, self._shown(request, task_id), RETRY, self.admin_site.each_context(request))
        return task_page.command(request, task_id, tasks.retry_task, lambda _task: gettext("The task is tried again."))

    def cancel(self, request: HttpRequest, task_id: int) -> HttpResponseBase:
        if request.method == "GET":
            return ask(request, self._shown(request, task_id), CANCEL, self.admin_site.each_context(request))
        return task_page.command(request, task_id, tasks.cancel_task, _cancelled)

    def _shown(self, request: HttpRequest, task_id: int) -> IndexTask:
        task = (
            tasks.with_gaps(self.get_queryset(request))
            .select_related("document", "tenant", "pipeline")
            .filter(pk=task_id)
            .first()
        )
        if task is None:
            raise Http404
        return task

    def chunks(self, request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
        return chunk_page.show(request, document_id, self.admin_site.each_context(request))


def _clock(at: datetime) -> str:
    return date_format(localtime(at), "H:i:s")


def _cancelled(task: IndexTask) -> str:
    if is_being_cancelled(task):
        return gettext("The task is being cancelled: its worker stops before the next step.")
    return gettext("The task is cancelled.")


def _prioritise(request: HttpRequest, chosen: QuerySet[IndexTask], priority: int) -> None:
    done, refused = _each(request, chosen, partial(tasks.prioritise_task, priority=priority))
    if done:
        said = ngettext("%(count)d task was moved.", "%(count)d tasks were moved.", len(done))
        messages.success(request, said % {"count": len(done)})
    _report(request, refused)


def _warn_of_unattended_pools(request: HttpRequest) -> None:
    if pauses.current():
        return  # then nothing runs, with any number of workers, and the page says so
    for pool, waiting in pools.unattended().items():
        said = ngettext(
            "%(count)d task waits in pool “%(pool)s”, and no worker takes it. An operator can start one: "
            "run_index_worker --pool %(pool)s",
            "%(count)d tasks wait in pool “%(pool)s”, and no worker takes them. An operator can start one: "
            "run_index_worker --pool %(pool)s",
            waiting,
        )
        messages.warning(request, said % {"count": waiting, "pool": pool})


def _each(
    request: HttpRequest, chosen: QuerySet[IndexTask], run: Callable[..., IndexTask]
) -> tuple[list[IndexTask], dict[str, int]]:
    """Run a command on each task in a transaction of its own: one that is refused stops no other."""
    done, refused = list[IndexTask](), dict[str, int]()
    for task_id in list(chosen.order_by("id").values_list("id", flat=True)):
        try:
            done.append(run(actor=request.user, task_id=task_id))
        except DocumentsError as error:
            refused[error.message] = refused.get(error.message, 0) + 1
        except OperationalError as error:
            if not changed_nothing(error):
                raise
            busy = str(problems.UNREACHABLE)
            refused[busy] = refused.get(busy, 0) + 1
    return done, refused


def _report(request: HttpRequest, refused: dict[str, int]) -> None:
    for reason, count in refused.items():
        messages.warning(request, gettext("Refused for %(count)d: %(reason)s") % {"count": count, "reason": reason})
