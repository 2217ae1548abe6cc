"""A batch that does not fit has to be refused, and then nothing of it may be stored."""

import sys

import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, ReplayBuffer

found = []
for case, body in {
    "a key is missing": None,
    "another shape": torch.ones(4, 6),
    "a type that holds more": torch.full((4, 3), 1j),
}.items():
    buffer = ReplayBuffer(storage=LazyTensorStorage(16), batch_size=4)
    buffer.extend(TensorDict({"x": torch.ones(4), "body": torch.ones(4, 3)}, batch_size=[4]))
    wrong = TensorDict({"x": torch.full((4,), 2.0)}, batch_size=[4])
    if body is not None:
        wrong["body"] = body
    try:
        buffer.extend(wrong)
        how = "accepted"
    except (RuntimeError, KeyError, ValueError, TypeError) as error:
        how = f"{type(error).__name__}"
    if len(buffer) > 4:
        row = buffer[:][4]
        found.append(
            f"{case}: {how}, row 4 of {len(buffer)} is x={row['x'].item()} body={row['body'].tolist()}"
        )
print("CONFIRMED: " + "; ".join(found) if found else "not reproduced")
sys.exit(bool(found))
# observed: CONFIRMED: a key is missing: accepted, row 4 of 8 is x=2.0 body=[-4.8e+16, 4.6e-41, ...]; ...
