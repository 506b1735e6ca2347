"""Settings for all tests; fixtures belong to the modules that use them."""

from hypothesis import HealthCheck, settings

# A shared machine is slow at times, and a deadline would then fail a test that found nothing.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=2_000)
settings.load_profile("default")
