from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class DocumentsConfig(AppConfig):
    name = "documents"
    verbose_name = _("Documents")

    def ready(self) -> None:
        from documents import checks, roles  # noqa: F401  (checks register themselves)

        post_migrate.connect(roles.grant_after_migrate, sender=self)
