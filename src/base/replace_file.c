#include "replace_file.h"
#include "alloc.h"
#include "error.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TRIES = 100 }; /* names that an earlier, killed process of the same number left */

/* Creates a new file in the folder of `path`; its name goes to `temporary` [cap]. */
static int create_beside(const char *path, char *temporary, size_t cap) {
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path) + 1 : 0;
    for (int i = 0; i < MAX_TRIES; i++) {
        snprintf(temporary, cap, "%.*s.ingot-%ld-%d.tmp", folder, path, (long)getpid(), i);
        const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

static bool write_and_rename(int fd, const char *temporary, const char *path, const void *data, size_t n) {
    const bool written = write_all(fd, data, n) && !fsync(fd);
    const int why = errno;
    const bool closed = !close(fd);
    if (!written) errno = why;
    return written && closed && !rename(temporary, path);
}

ingot_status ingot_replace_file(const char *path, const void *data, size_t n) {
    const size_t cap = strlen(path) + 64;
    char *temporary = ingot_alloc(cap, INGOT_MEM_OTHER);
    if (!temporary) return ingot_fail(INGOT_E_NOMEM, "%s: no memory to write it", path);
    ingot_status s = INGOT_OK;
    const int fd = create_beside(path, temporary, cap);
    if (fd < 0) {
        s = ingot_fail(INGOT_E_IO, "%s: cannot write into its folder: %s", path, strerror(errno));
    } else if (!write_and_rename(fd, temporary, path, data, n)) {
        s = ingot_fail(INGOT_E_IO, "%s: cannot write: %s", path, strerror(errno));
        unlink(temporary);
    }
    ingot_dealloc(temporary);
    return s;
}
