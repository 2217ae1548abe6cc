"""Clock, errors, channels, ownership and shutdown: what every part of the reference stands on."""
