"""What editors fill in. The forms only read input; every rule is the services'."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from documents import content
from documents.media_types import BY_EXTENSION
from documents.models import Document, Membership, ReaderGroup
from documents.querysets import EDITING_ROLES, User, tenants_where
from documents.readers import Reader, readers_of

ACCEPT = ",".join(BY_EXTENSION)
FILE_HELP = _("PDF, DOCX, PPTX, XLSX, XLS, ODS, CSV, HTML, Markdown, text, JSON, source code or a picture.")


def file_field() -> forms.FileField:
    """A file of any size and kind: the service decides and says why not."""
    return forms.FileField(
        label=_("File"),
        help_text=FILE_HELP,
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": ACCEPT}),
    )


def read_upload(upload: UploadedFile[Any]) -> bytes:
    """The bytes of an upload, read no further than needed to see that it is over the limit."""
    data: bytes = upload.read(settings.KB_MAX_UPLOAD_BYTES + 1)
    return data


class NewDocumentForm(forms.Form):
    tenant = forms.ChoiceField(label=_("Tenant"))
    title = forms.CharField(
        label=_("Title"), required=False, help_text=_("Leave it empty to use the file's name."), strip=True
    )
    file = file_field()

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = list(tenants_where(user, EDITING_ROLES).values_list("slug", "name"))
        field = self.fields["tenant"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
        if len(choices) == 1:
            field.initial, field.widget = choices[0][0], forms.HiddenInput()

    @property
    def chosen_title(self) -> str:
        title: str = self.cleaned_data["title"]
        return title or content.title_of(self.cleaned_data["file"].name)


class CommandForm(forms.Form):
    """A command on a document, made with `revision` in view."""

    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, document: Document, **kwargs: Any) -> None:
        self.document = document
        super().__init__(*args, **kwargs)
        self.initial.setdefault("revision", document.revision)

    def on_revision_of(self, document: Document, *, reason: str) -> Self:
        """What was entered, with `reason` beside it, to be sent again with the document's present state in view."""
        entered = cast(QueryDict, self.data).copy()
        entered["revision"] = str(document.revision)
        again = type(self)(entered, self.files, document=document, auto_id=self.auto_id)
        again.add_error(None, reason)
        return again


class NewVersionForm(CommandForm):
    file = file_field()
    title = forms.CharField(
        label=_("New title"), required=False, help_text=_("Leave it empty to keep the present title."), strip=True
    )


class RestoreForm(CommandForm):
    version_number = forms.IntegerField(widget=forms.HiddenInput)


class StalenessForm(CommandForm):
    staleness = forms.ChoiceField(
        label=_("While a new version is indexed"), choices=Document.Staleness.choices, widget=forms.RadioSelect
    )

    longest = forms.IntegerField(label=_("For how long at most"), required=False, min_value=1)
    unit = forms.TypedChoiceField(
        label=_("Unit"),
        required=False,
        coerce=int,
        choices=[(1, _("seconds")), (60, _("minutes")), (3600, _("hours")), (86400, _("days"))],
    )
    past_maximum = forms.ChoiceField(
        label=_("When that time is over"),
        required=False,
        choices=Document.PastMaximum.choices,
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, document: Document, **kwargs: Any) -> None:
        super().__init__(*args, document=document, **kwargs)
        self.initial.setdefault("staleness", document.staleness)
        self.initial.setdefault("past_maximum", document.past_maximum)
        seconds = document.max_staleness_seconds
        unit = next((size for size in (86400, 3600, 60) if (seconds or 60) % size == 0), 1)
        self.initial.setdefault("unit", unit)
        self.initial.setdefault("longest", seconds and seconds // unit)
        self.fields["longest"].help_text = _default_maximum()

    @property
    def max_seconds(self) -> int | None:
        """None where the site's own is to hold."""
        longest: int | None = self.cleaned_data["longest"]
        unit: int = self.cleaned_data["unit"] or 60
        return longest and longest * unit


class ReadersForm(CommandForm):
    """Who may read: everyone, chosen groups and people, or nobody."""

    class Audience:
        KEEP, EVERYONE, CHOSEN, NOBODY = "keep", "everyone", "chosen", "nobody"

    audience = forms.ChoiceField(label=_("Readers"), widget=forms.RadioSelect)
    groups = forms.MultipleChoiceField(label=_("Groups"), required=False, widget=forms.CheckboxSelectMultiple)
    people = forms.MultipleChoiceField(label=_("People"), required=False, widget=forms.CheckboxSelectMultiple)

    audiences: list[tuple[str, Any]] = [
        (Audience.EVERYONE, _("Every member of the tenant")),
        (Audience.CHOSEN, _("Only these groups and people")),
        (Audience.NOBODY, _("Nobody")),
    ]

    def __init__(self, *args: Any, document: Document, **kwargs: Any) -> None:
        super().__init__(*args, document=document, **kwargs)
        self._offer("audience", self.audiences)
        groups = ReaderGroup.objects.filter(tenant=document.tenant_id).order_by("name").values_list("name", flat=True)
        self._offer("groups", [(name, name) for name in groups])
        members = Membership.objects.filter(tenant=document.tenant_id).select_related("user").order_by("user__username")
        self._offer("people", [(member.user.username, _person(member)) for member in members])
        if document.requested_version is not None:
            self._select(readers_of(document=document, version_number=document.requested_version))

    def _offer(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def _select(self, readers: list[Reader]) -> None:
        kinds = {reader.type for reader in readers}
        audience = self.Audience.EVERYONE if "everyone" in kinds else self.Audience.CHOSEN
        self.initial.setdefault("audience", audience if kinds else self.Audience.NOBODY)
        self.initial.setdefault("groups", [reader.name for reader in readers if reader.type == "group"])
        self.initial.setdefault("people", [reader.name for reader in readers if reader.type == "user"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("audience") == self.Audience.CHOSEN and not (cleaned.get("groups") or cleaned.get("people")):
            self.add_error("audience", _("Choose at least one group or person, or choose “Nobody”."))
        return cleaned

    @property
    def readers(self) -> list[Reader] | None:
        """The readers entered; None keeps those there are."""
        audience = self.cleaned_data["audience"]
        if audience == self.Audience.KEEP:
            return None
        if audience == self.Audience.EVERYONE:
            return [Reader("everyone")]
        if audience == self.Audience.NOBODY:
            return []
        groups, people = self.cleaned_data["groups"], self.cleaned_data["people"]
        return [*(Reader("group", name) for name in groups), *(Reader("user", name) for name in people)]


class PublishForm(ReadersForm):
    version_number = forms.TypedChoiceField(label=_("Version"), coerce=int)
    field_order = ["revision", "version_number", "audience", "groups", "people"]

    def __init__(self, *args: Any, document: Document, **kwargs: Any) -> None:
        if document.requested_version is not None:
            keep = (self.Audience.KEEP, _("Those who may read it now"))
            self.audiences = [keep, *ReadersForm.audiences]
            kwargs["initial"] = {"audience": self.Audience.KEEP, **(kwargs.get("initial") or {})}
        super().__init__(*args, document=document, **kwargs)
        versions = document.versions.filter(number__gte=document.requested_version or 1).order_by("-number")
        self._offer(
            "version_number",
            [(str(number), f"v{number} · {name}") for number, name in versions.values_list("number", "file_name")[:50]],
        )


def _default_maximum() -> str:
    seconds = settings.KB_MAX_STALENESS_SECONDS
    if not seconds:
        return gettext("Empty: without an end.")
    return gettext("Empty: %(time)s, as everywhere on this site.") % {"time": duration_words(seconds)}


def duration_words(seconds: float) -> str:
    """“1 hour”: one unit is enough to know what it is about; what is under a minute is told in seconds."""
    if seconds < 60:
        return ngettext("%(count)d second", "%(count)d seconds", int(seconds)) % {"count": seconds}
    now = timezone.now()
    return timesince(now - timedelta(seconds=seconds), now, depth=1)


def _person(member: Membership) -> str:
    full_name = member.user.get_full_name()
    return f"{full_name} ({member.user.username})" if full_name else member.user.username
