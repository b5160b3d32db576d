"""How much launchers say."""


def get_log_level() -> str:
    """The level of loggers where LOGLEVEL does not set it."""
    return "WARNING"
