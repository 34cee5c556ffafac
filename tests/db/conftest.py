from tests.concurrency.conftest import stub_world  # noqa: F401  (a fixture)
