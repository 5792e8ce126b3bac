/* Stands before the C library and lets chosen calls on chosen places fail.

   Preloaded into a process whose environment names a control file (FAULT_CONTROL), which both sides map. Calls are
   counted while it is armed; the one whose turn it is does not happen and answers with the wanted error. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, MAKE, READ, WRITE, SYNC, RENAME, REMOVE, FOLDER, LOOK, LIST, LOCK, CLOSE, SIZE, MODE, MAP };

struct control {
    int32_t armed;
    int32_t error;      /* an errno; 0: a write takes half of its bytes */
    uint32_t kinds;     /* one bit for each of the kinds above */
    int32_t lasting;    /* every later call fails too */
    int64_t at;         /* which call fails, from 0 */
    int64_t counted;
    int64_t fired;
    char scope[4][512]; /* only what lies below one of these folders counts; "" for none */
    char where[1024];   /* what failed first */
};

static struct control *control;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_CONTROL");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
    if (file < 0) return;
    void *map = (void *)syscall(SYS_mmap, NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map != MAP_FAILED) control = map;
}

static int below(const char *path) {
    for (int n = 0; n < 4; n++) {
        size_t length = strlen(control->scope[n]);
        if (length && !strncmp(path, control->scope[n], length)) return 1;
    }
    return 0;
}

static int place_of(int fd, char *place, size_t size) {
    char link[64];
    snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, place, size - 1);
    if (length < 0) return 0;
    place[length] = 0;
    return 1;
}

/* Whether this call is to fail; errno is set then. */
static int fails(int kind, const char *name, int fd, const char *path) {
    if (!control || !control->armed || !(control->kinds >> kind & 1)) return 0;
    int before = errno;
    char place[2048];
    if (path && *path == '/') snprintf(place, sizeof place, "%s", path);
    else {
        if (!place_of(fd, place, sizeof place)) return errno = before, 0;
        size_t length = strlen(place);
        if (path) snprintf(place + length, sizeof place - length, "/%s", path);
    }
    errno = before;
    if (!below(place)) return 0;
    int64_t turn = __atomic_fetch_add(&control->counted, 1, __ATOMIC_SEQ_CST);
    if (turn != control->at && !(control->lasting && turn > control->at)) return 0;
    if (!__atomic_fetch_add(&control->fired, 1, __ATOMIC_SEQ_CST))
        snprintf(control->where, sizeof control->where, "%s %s", name, place);
    if (control->error) errno = control->error;
    return 1;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WRAP(kind, result, failed, name, parameters, fd, path, arguments) \
    result name parameters { \
        REAL(name); \
        if (fails(kind, #name, fd, path)) return failed; \
        return real arguments; \
    }

#define WRAP_OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = va_arg(list, mode_t); \
        va_end(list); \
        if (fails(flags & O_CREAT ? MAKE : OPEN, #name, AT_FDCWD, path)) return -1; \
        return real(path, flags, mode); \
    }
#define WRAP_OPENAT(name) \
    int name(int fd, const char *path, int flags, ...) { \
        REAL(name); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = va_arg(list, mode_t); \
        va_end(list); \
        if (fails(flags & O_CREAT ? MAKE : OPEN, #name, fd, path)) return -1; \
        return real(fd, path, flags, mode); \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

/* A short write does happen, by half; a write of one byte is let through. */
#define WRAP_WRITE(name, parameters, whole, half) \
    ssize_t name parameters { \
        REAL(name); \
        if (control && control->armed && !control->error && size < 2) return real whole; \
        if (fails(WRITE, #name, fd, NULL)) { \
            if (control->error) return -1; \
            size /= 2; \
            return real half; \
        } \
        return real whole; \
    }
WRAP_WRITE(write, (int fd, const void *bytes, size_t size), (fd, bytes, size), (fd, bytes, size))
WRAP_WRITE(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at), (fd, bytes, size, at))
WRAP_WRITE(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at), (fd, bytes, size, at))

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    if (fails(WRITE, "writev", fd, NULL)) return control->error ? -1 : write(fd, parts->iov_base, parts->iov_len / 2);
    return real(fd, parts, count);
}

WRAP(READ, ssize_t, -1, read, (int fd, void *bytes, size_t size), fd, NULL, (fd, bytes, size))
WRAP(READ, ssize_t, -1, pread, (int fd, void *bytes, size_t size, off_t at), fd, NULL, (fd, bytes, size, at))
WRAP(READ, ssize_t, -1, pread64, (int fd, void *bytes, size_t size, off64_t at), fd, NULL, (fd, bytes, size, at))
WRAP(SYNC, int, -1, fsync, (int fd), fd, NULL, (fd))
WRAP(SYNC, int, -1, fdatasync, (int fd), fd, NULL, (fd))
WRAP(SYNC, int, -1, syncfs, (int fd), fd, NULL, (fd))
WRAP(SYNC, int, -1, sync_file_range, (int fd, off64_t from, off64_t size, unsigned flags), fd, NULL, (fd, from, size, flags))
WRAP(RENAME, int, -1, rename, (const char *from, const char *to), AT_FDCWD, to, (from, to))
WRAP(RENAME, int, -1, renameat, (int from_fd, const char *from, int fd, const char *to), fd, to, (from_fd, from, fd, to))
WRAP(RENAME, int, -1, link, (const char *from, const char *to), AT_FDCWD, to, (from, to))
WRAP(RENAME, int, -1, linkat, (int from_fd, const char *from, int fd, const char *to, int flags), fd, to, (from_fd, from, fd, to, flags))
WRAP(REMOVE, int, -1, unlink, (const char *path), AT_FDCWD, path, (path))
WRAP(REMOVE, int, -1, unlinkat, (int fd, const char *path, int flags), fd, path, (fd, path, flags))
WRAP(REMOVE, int, -1, rmdir, (const char *path), AT_FDCWD, path, (path))
WRAP(FOLDER, int, -1, mkdir, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
WRAP(FOLDER, int, -1, mkdirat, (int fd, const char *path, mode_t mode), fd, path, (fd, path, mode))
WRAP(LOOK, int, -1, stat, (const char *path, struct stat *found), AT_FDCWD, path, (path, found))
WRAP(LOOK, int, -1, stat64, (const char *path, struct stat64 *found), AT_FDCWD, path, (path, found))
WRAP(LOOK, int, -1, lstat, (const char *path, struct stat *found), AT_FDCWD, path, (path, found))
WRAP(LOOK, int, -1, lstat64, (const char *path, struct stat64 *found), AT_FDCWD, path, (path, found))
WRAP(LOOK, int, -1, fstat, (int fd, struct stat *found), fd, NULL, (fd, found))
WRAP(LOOK, int, -1, fstat64, (int fd, struct stat64 *found), fd, NULL, (fd, found))
WRAP(LOOK, int, -1, fstatat, (int fd, const char *path, struct stat *found, int flags), fd, path, (fd, path, found, flags))
WRAP(LOOK, int, -1, fstatat64, (int fd, const char *path, struct stat64 *found, int flags), fd, path, (fd, path, found, flags))
WRAP(LOOK, int, -1, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *found), fd, path, (fd, path, flags, mask, found))
WRAP(LOOK, int, -1, access, (const char *path, int mode), AT_FDCWD, path, (path, mode))
WRAP(LIST, DIR *, NULL, opendir, (const char *path), AT_FDCWD, path, (path))
WRAP(LIST, DIR *, NULL, fdopendir, (int fd), fd, NULL, (fd))
WRAP(LOCK, int, -1, flock, (int fd, int operation), fd, NULL, (fd, operation))
WRAP(SIZE, int, -1, ftruncate, (int fd, off_t size), fd, NULL, (fd, size))
WRAP(SIZE, int, -1, ftruncate64, (int fd, off64_t size), fd, NULL, (fd, size))
WRAP(MODE, int, -1, fchmod, (int fd, mode_t mode), fd, NULL, (fd, mode))
WRAP(MODE, int, -1, fchown, (int fd, uid_t user, gid_t group), fd, NULL, (fd, user, group))
WRAP(MAP, void *, MAP_FAILED, mmap, (void *at, size_t size, int how, int flags, int fd, off_t from), fd, NULL, (at, size, how, flags, fd, from))
WRAP(MAP, void *, MAP_FAILED, mmap64, (void *at, size_t size, int how, int flags, int fd, off64_t from), fd, NULL, (at, size, how, flags, fd, from))

struct dirent64 *readdir64(DIR *folder) {
    REAL(readdir64);
    if (folder && fails(LIST, "readdir64", dirfd(folder), NULL)) return NULL;
    return real(folder);
}

/* Linux closes the file whatever it answers. */
int close(int fd) {
    REAL(close);
    int failed = fails(CLOSE, "close", fd, NULL), error = errno, answer = real(fd);
    return failed ? (errno = error, -1) : answer;
}

/* Locks on parts of files, as SQLite takes them. */
#define WRAP_FCNTL(name) \
    int name(int fd, int command, ...) { \
        REAL(name); \
        va_list list; \
        va_start(list, command); \
        void *argument = va_arg(list, void *); \
        va_end(list); \
        int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK; \
        if (locks && fails(LOCK, #name, fd, NULL)) return -1; \
        return real(fd, command, argument); \
    }
WRAP_FCNTL(fcntl)
WRAP_FCNTL(fcntl64)
