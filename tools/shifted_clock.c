/* Shifts the wall clock of a process by CLOCK_OFFSET seconds (LD_PRELOAD); how time passes stays as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int (*libc_clock_gettime)(clockid_t, struct timespec *);
static time_t offset;

__attribute__((constructor)) static void load(void) {
    const char *given = getenv("CLOCK_OFFSET");
    offset = given ? atol(given) : 0;
    libc_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (!libc_clock_gettime) load(); /* another library's constructor may be first */
    int failed = libc_clock_gettime(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += offset;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone; /* obsolete, and ignored by Linux */
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
