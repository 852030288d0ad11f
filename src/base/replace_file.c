#include <ingot/file.h>
#include "alloc.h"
#include "error.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 100 }; /* names that an earlier, killed process of the same number left */

/* The file that is written: what `path` leads to through links, or itself where nothing is. */
typedef struct target {
    char path[PATH_MAX];
    mode_t mode; /* of the file that is there; 0: none is */
} target;

static int folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

static ingot_status find_target(target *t, const char *path) {
    struct stat st;
    t->mode = 0;
    if (strlen(path) + 64 > sizeof t->path) return ingot_fail(INGOT_E_IO, "%s: cannot write it: %s", path, strerror(ENAMETOOLONG));
    strcpy(t->path, path);
    if (lstat(path, &st) && errno == ENOENT) return INGOT_OK;
    if (!realpath(path, t->path)) return ingot_fail(INGOT_E_IO, "%s: cannot write where it leads: %s", path, strerror(errno));
    if (stat(t->path, &st)) return ingot_fail(INGOT_E_IO, "%s: cannot write it: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return ingot_fail(INGOT_E_IO, "%s: is no regular file, and nothing else is replaced", path);
    if (access(t->path, W_OK)) return ingot_fail(INGOT_E_IO, "%s: cannot write it: %s", path, strerror(errno));
    t->mode = st.st_mode & 0777;
    return INGOT_OK;
}

/* Creates a new file in the folder of `path`; its name goes to `temporary` [PATH_MAX]. */
static int create_beside(const char *path, char *temporary) {
    for (int i = 0; i < MAX_TRIES; i++) {
        const int n = snprintf(temporary, PATH_MAX, "%.*s.ingot-%ld-%d.tmp", folder_length(path), path, (long)getpid(), i);
        if (n >= PATH_MAX) errno = ENAMETOOLONG;
        const int fd = n < PATH_MAX ? open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static bool write_all(int fd, const char *p, size_t n) {
    while (n > 0) {
        const ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return false;
        p += k, n -= (size_t)k;
    }
    return true;
}

static bool write_and_rename(int fd, const char *temporary, const target *t, const void *data, size_t n) {
    const bool written = (!t->mode || !fchmod(fd, t->mode)) && write_all(fd, data, n) && !fsync(fd);
    const int why = errno;
    const bool closed = !close(fd);
    if (!written) errno = why;
    return written && closed && !rename(temporary, t->path);
}

ingot_status ingot_replace_file(const char *path, const void *data, size_t n) {
    target t;
    char temporary[PATH_MAX];
    INGOT_TRY(find_target(&t, path));
    const int fd = create_beside(t.path, temporary);
    if (fd < 0) return ingot_fail(INGOT_E_IO, "%s: cannot write into its folder: %s", path, strerror(errno));
    if (write_and_rename(fd, temporary, &t, data, n)) return INGOT_OK;
    const ingot_status s = ingot_fail(INGOT_E_IO, "%s: cannot write: %s", path, strerror(errno));
    unlink(temporary);
    return s;
}

ingot_status ingot_replace_file_check(const char *path) {
    target t;
    INGOT_TRY(find_target(&t, path));
    const int n = folder_length(t.path);
    if (n) t.path[n] = 0;
    else strcpy(t.path, ".");
    if (!access(t.path, W_OK | X_OK)) return INGOT_OK;
    return ingot_fail(INGOT_E_IO, "%s: cannot write into its folder: %s", path, strerror(errno));
}
