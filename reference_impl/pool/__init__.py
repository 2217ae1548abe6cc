"""An async env pool in torchrl's vocabulary."""

from reference_impl.pool.env_pool import AsyncEnvPool

__all__ = ["AsyncEnvPool"]
