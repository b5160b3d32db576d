"""How often each side looks whether the other still lives."""

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds
