"""A constructor whose factory cannot be pickled has to say so, or to take it as ParallelEnv does."""

import multiprocessing

from torchrl.envs import AsyncEnvPool, PendulumEnv


def main() -> None:
    multiprocessing.set_start_method("spawn", force=True)
    try:
        AsyncEnvPool([lambda: PendulumEnv(device="cpu")] * 2, backend="multiprocessing").close()
    except Exception as error:  # noqa: BLE001 - which one it is is what is asked
        hidden = "pickle" not in str(error)
        print(f"{'CONFIRMED' if hidden else 'not reproduced'}: it raised {error!r}")
        raise SystemExit(hidden) from None
    print("not reproduced")


if __name__ == "__main__":
    main()
# observed: CONFIRMED: it raised AssertionError('can only join a started process')
