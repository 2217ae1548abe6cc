"""Prints how long the first pool of this process lives, in us: start, first reset, close."""

from __future__ import annotations

from harness.ports.clock import now_ns
from tools import bench_envs as envs
from tools.bench_sides import ours


def main() -> None:
    """Measure and print."""
    begun = now_ns()
    ours([envs.Numbers] * 16, start_method="forkserver").close()
    print((now_ns() - begun) / 1e3)


if __name__ == "__main__":
    main()
