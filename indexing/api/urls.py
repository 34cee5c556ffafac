"""Addresses of the index and search calls, under /api/v1/."""

from django.urls import path

from indexing.api import views

urlpatterns = [
    path("index-tasks", views.IndexTasksView.as_view(), name="index-tasks"),
    path("index-tasks/<int:task_id>", views.IndexTaskView.as_view(), name="index-task"),
    path("index-tasks/<int:task_id>/events", views.TaskEventsView.as_view(), name="index-task-events"),
    path("index-tasks/<int:task_id>/retry", views.RetryView.as_view(), name="index-task-retry"),
    path("index-tasks/<int:task_id>/cancel", views.CancelView.as_view(), name="index-task-cancel"),
    path("index-worker/run-once", views.RunOnceView.as_view(), name="index-worker-run-once"),
    path("search", views.SearchView.as_view(), name="search"),
]
