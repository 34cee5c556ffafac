"""The operators' door: tasks with their history, and the text that readers find. It calls `indexing.tasks` alone."""

from django.contrib import admin
from django_q import admin as django_q_admin  # noqa: F401  (registers its models, which are taken out again at once)
from django_q.models import Failure, OrmQ, Schedule, Success

from indexing.admin import pipeline_list, pool_list, provider_list, run_list, task_list

# `Schedule.func` is a free dotted path: whoever may edit a schedule may run any function of the site.
admin.site.unregister([model for model in (Failure, OrmQ, Schedule, Success) if admin.site.is_registered(model)])

__all__ = ["pipeline_list", "pool_list", "provider_list", "run_list", "task_list"]
