"""A new revision of a pipeline: its values are edited, the difference is shown, and only then it is made."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from documents.errors import DocumentsError
from indexing import revisions
from indexing.admin.pipeline_page import differences
from indexing.models import Pipeline
from indexing.pipeline_config import changed
from indexing.pipelines import of_release


class RevisionForm(forms.Form):
    base = forms.ModelChoiceField(Pipeline.objects.order_by("-id"), label=gettext_lazy("made from"))
    name = forms.CharField(label=gettext_lazy("name"), max_length=100, required=False)
    changes = forms.CharField(
        label=gettext_lazy("changes"),
        widget=forms.Textarea(attrs={"rows": 5, "cols": 60, "spellcheck": "false"}),
        required=False,
        help_text=gettext_lazy(
            "One PATH=VALUE a line, such as splitter.tokens=400, embedder.model=name or embedder.dimensions=1024. "
            "None: the same under the code of this release."
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if base := cleaned.get("base"):
            try:
                changed(of_release(base.config), self.assignments())
            except ValueError as error:
                self.add_error("changes", str(error))
        return cleaned

    def assignments(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data.get("changes", "").splitlines() if line.strip()]


def create(request: HttpRequest, context: dict[str, Any]) -> HttpResponseBase:
    form = RevisionForm(request.POST or None, initial={"base": Pipeline.objects.order_by("-id").first()})
    shown: list[tuple[str, str, str]] | None = None
    if request.method == "POST" and form.is_valid():
        base = form.cleaned_data["base"]
        if "confirmed" in request.POST:
            try:
                made, _changes = revisions.create(
                    actor=request.user, base=base, assignments=form.assignments(), name=form.cleaned_data["name"]
                )
            except DocumentsError as error:
                form.add_error(None, error.message)
            else:
                messages.success(
                    request, _("Pipeline %(number)d is there. Build it where it is to serve.") % {"number": made.pk}
                )
                return redirect("admin:indexing_pipeline_change", made.pk)
        shown = differences(base.config, changed(of_release(base.config), form.assignments()))
    return TemplateResponse(
        request,
        "admin/indexing/pipeline/add.html",
        {**context, "title": _("New revision of a pipeline"), "form": form, "changes": shown},
    )
