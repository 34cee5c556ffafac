"""Every address of the site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

api: list[URLPattern | URLResolver] = [
    path("", include("documents.api.urls")),
    path("", include("indexing.api.urls")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(), name="api-docs"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api)),
    path("admin/", admin.site.urls),
]

handler400 = "documents.api.problems.bad_request"
handler404 = "documents.api.problems.page_not_found"
handler500 = "documents.api.problems.server_error"
