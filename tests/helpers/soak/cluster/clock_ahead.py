"""A library that shows a program a time of day that is hours ahead, by the dynamic linker (LD_PRELOAD).

The monotonic clock stays: waits are measured by it, and no two machines have it in common anyway. Not `faketime`:
its version 0.9.10 makes Python's `time.sleep` fail (EINVAL).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = next(clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += AHEAD;
    return failed;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def clock_ahead(folder: Path, hours: int) -> dict[str, str]:
    """Variables for the environment of a program; the library is compiled into a folder."""
    library = folder / "clock.so"
    source = library.with_suffix(".c")
    source.write_text(SOURCE)
    command = ["cc", "-shared", "-fPIC", "-O2", f"-DAHEAD={hours * 3600}", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library)}
