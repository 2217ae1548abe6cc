"""What `init_on_sender(params_map=...)` took has to be sent by `connect`: torchrl's own check refuses it there."""

import torch
from tensordict import TensorDict
from torchrl.weight_update import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme

for kind in (SharedMemWeightSyncScheme, MultiProcessWeightSyncScheme):
    scheme = kind()
    scheme.init_on_sender(params_map={0: TensorDict(weight=torch.ones(1, 1))})
    try:
        scheme.connect()
    except ValueError as error:
        print(f"CONFIRMED: {kind.__name__}.connect: {error}")
    else:
        print(f"{kind.__name__}: connect returned")
    scheme.shutdown()
# observed: SharedMemWeightSyncScheme: connect returned
# observed: CONFIRMED: MultiProcessWeightSyncScheme.connect: num_workers cannot be provided if params_map is provided
