"""External systems that write documents, and what each has written last (sql/schema/0004_sources.sql)."""

from pathlib import Path

import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


SCHEMA = Path(__file__).parent.parent / "sql" / "schema" / "0004_sources.sql"


class Migration(migrations.Migration):

    dependencies = [
        ('documents', '0003_enforcement'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Source',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=50, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9._-]*$', 'Lower-case letters, digits, dots and hyphens.')], verbose_name='name')),
                ('clock', models.CharField(choices=[('time', 'by the time of the last change'), ('epoch', 'by a number that only grows')], default='time', max_length=5, verbose_name='orders its writes')),
                ('readers', models.JSONField(default=list, verbose_name='readers of what it writes')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='sources', to='documents.tenant', verbose_name='tenant')),
            ],
            options={
                'verbose_name': 'source',
                'verbose_name_plural': 'sources',
                'db_table': 'source',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='SourceEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=500)),
                ('clock', models.BigIntegerField(help_text="microseconds since 1970 (UTC), or the source's own number")),
                ('digest', models.CharField(max_length=64, null=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('document', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='source_entries', to='documents.document')),
                ('source', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='documents.source')),
            ],
            options={
                'db_table': 'source_entry',
                'ordering': ['key'],
            },
        ),
        migrations.AddConstraint(
            model_name='source',
            constraint=models.UniqueConstraint(fields=('tenant', 'name'), name='source_name_once_per_tenant'),
        ),
        migrations.AddConstraint(
            model_name='sourceentry',
            constraint=models.UniqueConstraint(fields=('source', 'key'), name='source_entry_once'),
        ),
        migrations.AddConstraint(
            model_name='sourceentry',
            constraint=models.UniqueConstraint(condition=models.Q(('digest__isnull', False)), fields=('document',), name='source_entry_of_document'),
        ),
        migrations.AddConstraint(
            model_name='sourceentry',
            constraint=models.CheckConstraint(condition=models.Q(('digest', None), ('document__isnull', False), _connector='OR'), name='source_entry_has_its_document'),
        ),
        migrations.RunSQL(SCHEMA.read_text(encoding="utf-8"), migrations.RunSQL.noop),
    ]
