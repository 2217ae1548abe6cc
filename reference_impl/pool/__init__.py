"""An async env pool in torchrl's vocabulary."""

from reference_impl.core.errors import Closed, Leased, ReceiveTimeout, WorkerDied, WorkerError
from reference_impl.pool.control_calls import EnvParamsError
from reference_impl.pool.env_params import Reinit
from reference_impl.pool.env_pool import AsyncEnvPool
from reference_impl.pool.leases import Lease

__all__ = [
    "AsyncEnvPool",
    "Closed",
    "EnvParamsError",
    "Lease",
    "Leased",
    "ReceiveTimeout",
    "Reinit",
    "WorkerDied",
    "WorkerError",
]
