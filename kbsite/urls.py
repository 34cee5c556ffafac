"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils.translation import gettext_lazy as _
from django.views.i18n import set_language
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from documents.api import problems
from indexing import pages
from kbsite import health
from kbsite.middleware import POLICY_OF_API_DOCS, with_policy

admin.site.site_header = admin.site.site_title = _("Knowledge base")
admin.site.index_title = _("Overview")
admin.site.enable_nav_sidebar = False  # a bar in the header leaves the tables their width

api: list[URLPattern | URLResolver] = [
    path("", include("documents.api.urls")),
    path("", include("indexing.api.urls")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", with_policy(POLICY_OF_API_DOCS, SpectacularSwaggerSplitView.as_view()), name="api-docs"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api)),
    # Not those two without their slash: Django sends them on.
    re_path(r"^api/(?!v1/(?:schema|docs)$)", problems.no_such_address),
    path("admin/", admin.site.urls),
    path("", pages.search_page, name="search"),
    path("documents/<uuid:document_id>/versions/<int:version_number>/", pages.passage_page, name="passage"),
    path("documents/<uuid:document_id>/versions/<int:version_number>/original/", pages.original_page, name="original"),
    path("login/", auth.LoginView.as_view(template_name="site/login.html"), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("language/", set_language, name="set_language"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

handler400 = "documents.api.problems.bad_request"
handler500 = "kbsite.faults.server_error"
