"""A process that cannot be started for want of descriptors must not cost any: multiprocessing's loses a pipe."""

import multiprocessing
import os
import resource
import sys


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=int)
    before = descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 2, hard)
    )
    try:
        process.start()
    except OSError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    lost = descriptors() - before
    print(f"CONFIRMED: {lost} descriptors are lost" if lost else "not reproduced")
    sys.exit(bool(lost))
# observed: CONFIRMED: 2 descriptors are lost
