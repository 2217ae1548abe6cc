"""Every env of torchrl can be seeded: a pool of envs too, as a SerialEnv of the same envs can."""

import signal
import sys

from torchrl.envs import AsyncEnvPool, PendulumEnv, SerialEnv

signal.alarm(60)
serial = SerialEnv(2, PendulumEnv)
print(f"SerialEnv.set_seed(0) returns {serial.set_seed(0)}")
serial.close()

pool = AsyncEnvPool([PendulumEnv, PendulumEnv], backend="threading")
try:
    pool.set_seed(0)
    raised = None
except NotImplementedError as error:
    raised = error
pool.close()
text = f"AsyncEnvPool.set_seed(0) raised {raised!r}"
print(f"CONFIRMED: {text}" if raised else "not reproduced")
sys.exit(raised is not None)
# observed: CONFIRMED: AsyncEnvPool.set_seed(0) raised NotImplementedError()
