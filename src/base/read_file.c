#include "read_file.h"
#include "alloc.h"
#include "error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ingot_status read_descriptor(uint8_t **data, size_t *n, int fd) {
    struct stat st;
    if (fstat(fd, &st)) return ingot_fail(INGOT_E_IO, "cannot stat: %s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return ingot_fail(INGOT_E_IO, S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
    if ((uint64_t)st.st_size > SIZE_MAX / 2) return ingot_fail(INGOT_E_IO, "is too large for this machine's addresses");
    const size_t size = (size_t)st.st_size;
    uint8_t *p = ingot_alloc(size, INGOT_MEM_OTHER);
    if (!p) return ingot_fail(INGOT_E_NOMEM, "no memory for its %zu bytes", size);
    size_t got = 0;
    while (got < size) {
        const ssize_t k = read(fd, p + got, size - got);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) {
            const char *why = k < 0 ? strerror(errno) : "it became shorter meanwhile";
            ingot_dealloc(p);
            return ingot_fail(INGOT_E_IO, "cannot read: %s", why);
        }
        got += (size_t)k;
    }
    *data = p, *n = size;
    return INGOT_OK;
}

ingot_status ingot_read_file(uint8_t **data, size_t *n, const char *path) {
    *data = NULL, *n = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block the open */
    if (fd < 0) return ingot_fail(INGOT_E_IO, "cannot open: %s", strerror(errno));
    const ingot_status s = read_descriptor(data, n, fd);
    close(fd);
    return s;
}
