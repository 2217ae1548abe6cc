"""An interrupt at each of the points at which Python handles signals."""

from __future__ import annotations

import sys
import traceback


def interrupted_at(point, function, *arguments):
    """Call it, and raise KeyboardInterrupt at one of those points; whether it came that far."""
    left = point

    def count(_frame, event, _argument):
        nonlocal left
        if event in ("call", "c_return"):
            left -= 1
            if left == -1:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        function(*arguments)
    except KeyboardInterrupt as error:
        sys.setprofile(None)
        traceback.clear_frames(error.__traceback__)
        return True
    finally:
        sys.setprofile(None)
    return False
