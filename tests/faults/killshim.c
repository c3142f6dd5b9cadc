/* A shim before the C library that makes one durable operation fail, or records all of them with their data.
 *
 * Durable operations are: open with O_CREAT, write, pwrite, ftruncate, fsync, fdatasync, rename, link, unlink, mkdir.
 * Only paths below one folder count. Operations are numbered from 1 in the order in which they happen.
 *
 * A process arms it for itself: shim_arm(folder, number, kind, trace). Number 0 fails nothing. Kinds:
 *   before  die before the operation          eio     the operation fails with EIO
 *   after   die after the operation           enospc  the operation fails with ENOSPC
 *   torn    die after half of the write
 * The trace, if any, is a file of records: struct head, then path, second path and data.
 * shim_mark(text) puts a line of the program's own into the trace.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum operation { WRITE = 1, TRUNCATE, SYNC, CREATE, RENAME, LINK, UNLINK, MKDIR, MARK };
enum kind { BEFORE, AFTER, TORN, FAIL_EIO, FAIL_ENOSPC };
enum verdict { GO_ON, DIE_AFTER, DIE_TORN, FAIL };

struct __attribute__((packed)) head {
    uint32_t operation, path_size, other_size, data_size;
    uint64_t inode;
    int64_t offset;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static size_t folder_size;
static int armed, at, done, trace = -1;
static enum kind kind;

void shim_arm(const char *below, int number, const char *name, const char *trace_path) {
    static const char *names[] = {"before", "after", "torn", "eio", "enospc"};
    snprintf(folder, sizeof folder, "%s/", below);
    folder_size = strlen(folder);
    at = number;
    done = 0;
    for (int i = 0; i < 5; i++)
        if (!strcmp(name, names[i])) kind = (enum kind)i;
    if (trace_path && *trace_path)
        trace = (int)syscall(SYS_openat, AT_FDCWD, trace_path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    armed = 1;
}

int shim_count(void) { return done; }

static int below(const char *path) { return armed && path && !strncmp(path, folder, folder_size); }

/* The path of an open file, or none. */
static const char *path_of(int fd, char *buffer) {
    char link_path[64];
    if (!armed) return NULL;
    snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link_path, buffer, PATH_MAX - 1);
    if (size < 0) return NULL;
    buffer[size] = 0;
    return buffer;
}

static uint64_t inode_at(const char *path) {
    struct stat found;
    return fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) ? 0 : found.st_ino;
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static void put(const void *bytes, size_t size) {
    const char *next = bytes;
    while (size > 0) {
        long put_now = syscall(SYS_write, trace, next, size);
        if (put_now <= 0) abort();
        next += put_now;
        size -= (size_t)put_now;
    }
}

static void record(enum operation operation, uint64_t inode, int64_t offset, const char *path, const char *other,
                   const void *data, size_t size) {
    if (trace < 0) return;
    struct head head = {operation, path ? strlen(path) : 0, other ? strlen(other) : 0, size, inode, offset};
    put(&head, sizeof head);
    put(path, head.path_size);
    put(other, head.other_size);
    put(data, size);
}

void shim_mark(const char *text) {
    pthread_mutex_lock(&guard);
    record(MARK, 0, 0, text, NULL, NULL, 0);
    pthread_mutex_unlock(&guard);
}

static __attribute__((noreturn)) void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Count an operation, and say what becomes of it. */
static enum verdict meet(void) {
    if (++done != at) return GO_ON;
    switch (kind) {
        case BEFORE: die();
        case AFTER: return DIE_AFTER;
        case TORN: return DIE_TORN;
        case FAIL_EIO: errno = EIO; return FAIL;
        default: errno = ENOSPC; return FAIL;
    }
}

#define REAL(result, name, ...)                                  \
    static result (*real)(__VA_ARGS__);                          \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* One operation on a path below the folder: judged, done and recorded under the guard, so that the trace has its order. */
#define OPERATION(is_below, type, torn_call, call, succeeded, record_call) \
    if (!(is_below)) return call;                                        \
    pthread_mutex_lock(&guard);                                          \
    enum verdict verdict = meet();                                       \
    if (verdict == FAIL) {                                               \
        pthread_mutex_unlock(&guard);                                    \
        return -1;                                                       \
    }                                                                    \
    if (verdict == DIE_TORN) {                                           \
        torn_call;                                                       \
        die();                                                           \
    }                                                                    \
    type result = call;                                                  \
    int error = errno;                                                   \
    if (succeeded) {                                                     \
        record_call;                                                     \
    }                                                                    \
    if (verdict == DIE_AFTER) die();                                     \
    pthread_mutex_unlock(&guard);                                        \
    errno = error;                                                       \
    return result

static int64_t place_of(int fd) {
    struct stat found;
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && flags & O_APPEND) return fstat(fd, &found) ? 0 : found.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    char buffer[PATH_MAX];
    int counts = below(path_of(fd, buffer));
    int64_t place = counts ? place_of(fd) : 0;
    OPERATION(counts, ssize_t, (void)!real(fd, data, size / 2), real(fd, data, size), result > 0,
              record(WRITE, inode_of(fd), place, buffer, NULL, data, (size_t)result));
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
    char buffer[PATH_MAX];
    OPERATION(below(path_of(fd, buffer)), ssize_t, (void)!real(fd, data, size / 2, place), real(fd, data, size, place),
              result > 0, record(WRITE, inode_of(fd), place, buffer, NULL, data, (size_t)result));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t place) { return pwrite64(fd, data, size, place); }

int ftruncate64(int fd, off64_t size) {
    REAL(int, ftruncate64, int, off64_t);
    char buffer[PATH_MAX];
    OPERATION(below(path_of(fd, buffer)), int, , real(fd, size), result == 0,
              record(TRUNCATE, inode_of(fd), size, buffer, NULL, NULL, 0));
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* Folders are flushed too, and the folder itself counts as below. */
static int counts_for_sync(int fd, char *buffer) {
    const char *path = path_of(fd, buffer);
    return below(path) || (armed && path && strlen(path) + 1 == folder_size && !strncmp(path, folder, folder_size - 1));
}

int fsync(int fd) {
    REAL(int, fsync, int);
    char buffer[PATH_MAX];
    OPERATION(counts_for_sync(fd, buffer), int, , real(fd), result == 0,
              record(SYNC, inode_of(fd), 0, buffer, NULL, NULL, 0));
}

int fdatasync(int fd) {
    REAL(int, fdatasync, int);
    char buffer[PATH_MAX];
    OPERATION(counts_for_sync(fd, buffer), int, , real(fd), result == 0,
              record(SYNC, inode_of(fd), 0, buffer, NULL, NULL, 0));
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    OPERATION(below(to), int, , real(from, to), result == 0, record(RENAME, inode_at(to), 0, from, to, NULL, 0));
}

int link(const char *from, const char *to) {
    REAL(int, link, const char *, const char *);
    OPERATION(below(to), int, , real(from, to), result == 0, record(LINK, inode_at(to), 0, from, to, NULL, 0));
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    OPERATION(to_folder == AT_FDCWD && below(to), int, , real(from_folder, from, to_folder, to, flags), result == 0,
              record(LINK, inode_at(to), 0, from, to, NULL, 0));
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    OPERATION(below(path), int, , real(path), result == 0, record(UNLINK, 0, 0, path, NULL, NULL, 0));
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    OPERATION(below(path), int, , real(path, mode), result == 0,
              record(MKDIR, inode_at(path), 0, path, NULL, NULL, 0));
}

/* The offset of a CREATE record says whether the file is a new one; the data, whether it was cut to nothing. */
int open64(const char *path, int flags, ...) {
    REAL(int, open64, const char *, int, ...);
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    int fresh = flags & O_CREAT && below(path) && inode_at(path) == 0;
    OPERATION(flags & O_CREAT && below(path), int, , real(path, flags, mode), result >= 0,
              record(CREATE, inode_of(result), fresh, path, NULL, flags & O_TRUNC ? "t" : "", flags & O_TRUNC ? 1 : 0));
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(path, flags, mode);
}
