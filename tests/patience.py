"""How long tests wait for what is sure to come: a guard against hanging, which says nothing of speed."""

from __future__ import annotations

from typing import Final

PATIENCE_S: Final = 240.0  # a machine with other things to do takes half a minute to import torchrl
