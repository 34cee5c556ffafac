"""Addresses of the document calls, under /api/v1/."""

from django.urls import path

from documents.api import hold_views, source_views, views

urlpatterns = [
    path("documents", views.DocumentsView.as_view(), name="documents"),
    path("documents/<uuid:document_id>", views.DocumentView.as_view(), name="document"),
    path("documents/<uuid:document_id>/versions", views.VersionsView.as_view(), name="document-versions"),
    path(
        "documents/<uuid:document_id>/versions/<int:version_number>/content",
        views.ContentView.as_view(),
        name="document-content",
    ),
    path("documents/<uuid:document_id>/publish", views.PublishView.as_view(), name="document-publish"),
    path("documents/<uuid:document_id>/readers", views.ReadersView.as_view(), name="document-readers"),
    path("documents/<uuid:document_id>/freshness", views.FreshnessView.as_view(), name="document-freshness"),
    path("documents/<uuid:document_id>/restore", views.RestoreView.as_view(), name="document-restore"),
    path("documents/<uuid:document_id>/withdraw", views.WithdrawView.as_view(), name="document-withdraw"),
    path("documents/<uuid:document_id>/holds", hold_views.HoldsView.as_view(), name="document-holds"),
    path("holds/<int:hold_id>/lift", hold_views.LiftView.as_view(), name="hold-lift"),
    path("sources", source_views.SourcesView.as_view(), name="sources"),
    path("sources/<int:source_id>/batches", source_views.BatchesView.as_view(), name="source-batches"),
    path("sources/<int:source_id>/documents/<path:key>", source_views.EntryView.as_view(), name="source-document"),
]
