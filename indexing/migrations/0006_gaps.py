"""What of a version could not be read, and how many of its places were verified: both go with the pointer that includes it.

Columns with a constant default: no table is rewritten. Pointers from before have no gaps and were not verified.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("indexing", "0005_pools")]
    operations = [
        migrations.AddField(
            "searchpointer",
            "gaps",
            models.JSONField(db_default=[], help_text="parts of the original that could not be read"),
        ),
        migrations.AddField(
            "searchpointer",
            "verification",
            models.JSONField(null=True, help_text="how many chunks were found again at their places"),
        ),
    ]
