"""What runs by the clock. Each schedule only calls a command, so that cron can do the same where no scheduler runs."""

from __future__ import annotations

from dataclasses import dataclass

from django_q.models import Schedule

PREFIX = "kb: "


@dataclass(frozen=True, slots=True)
class Periodic:
    command: str
    minutes: int
    why: str
    arguments: tuple[str, ...] = ()


SCHEDULES = (
    # Only what is new: the same staleness is no failed run every minute.
    Periodic("check_freshness", 1, "editors are told once of what has become too stale", ("--only-new",)),
    Periodic("sweep", 5, "deleted documents and abandoned uploads leave the disk"),
    Periodic(
        "audit_index", 24 * 60, "what is published and not searchable is noticed, and told as an error in the log"
    ),
    Periodic("refresh_term_statistics", 5, "the search knows common words from telling ones"),
)


def register() -> None:
    """Make the stored schedules equal to `SCHEDULES`: the code is the only place where they are edited."""
    for periodic in SCHEDULES:
        Schedule.objects.update_or_create(
            name=PREFIX + periodic.command,
            defaults={
                "func": "django.core.management.call_command",
                "args": repr((periodic.command, *periodic.arguments)),
                "schedule_type": Schedule.MINUTES,
                "minutes": periodic.minutes,
                "repeats": -1,
            },
        )
    known = [PREFIX + periodic.command for periodic in SCHEDULES]
    Schedule.objects.filter(name__startswith=PREFIX).exclude(name__in=known).delete()
