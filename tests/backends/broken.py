"""An adapter that cannot be imported."""

from __future__ import annotations

import no_such_package  # type: ignore[import-not-found] # that is the point

backend = no_such_package.backend
