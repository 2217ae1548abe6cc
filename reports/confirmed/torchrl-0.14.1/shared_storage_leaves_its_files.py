"""The files by which processes share a `LazyTensorStorage` have to be deleted: `cleanup_memmap` says so, by default."""

import gc
import glob
import sys
import tempfile

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer

tempfile.tempdir = tempfile.mkdtemp()
storage = LazyTensorStorage(8, shared_init=True, cleanup_memmap=True)
buffer = ReplayBuffer(storage=storage, batch_size=4)
buffer.extend(TensorDict({"x": torch.arange(4)}, batch_size=[4]))
buffer.sample()
del buffer, storage
gc.collect()
left = [
    name.partition("/")[2]
    for name in glob.glob("torchrl_storage_init_*/*", root_dir=tempfile.tempdir)
]
print(f"CONFIRMED: {sorted(left)} are left" if left else "not reproduced")
sys.exit(bool(left))
# observed: CONFIRMED: ["meta.json", "x.memmap"] are left
