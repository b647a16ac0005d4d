from hypothesis import HealthCheck, settings

# No deadline: on a busy machine, examples may take longer.
settings.register_profile("connect", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("connect")
