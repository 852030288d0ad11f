#include "gguf_file.h"
#include "../base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static ingot_status map_descriptor(gguf_part *part, int fd) {
    struct stat st;
    if (fstat(fd, &st)) return ingot_fail(INGOT_E_IO, "cannot stat: %s", strerror(errno));
    if (S_ISDIR(st.st_mode)) return ingot_fail(INGOT_E_IO, "is a directory, not a GGUF file");
    if (!S_ISREG(st.st_mode)) return ingot_fail(INGOT_E_IO, "is not a regular file, so it cannot be mapped");
    if (st.st_size == 0) return ingot_fail(INGOT_E_FORMAT, "is an empty file (a failed download?)");
    if ((uint64_t)st.st_size > SIZE_MAX / 2) return ingot_fail(INGOT_E_IO, "is too large for this machine's addresses");
    void *base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED) return ingot_fail(INGOT_E_IO, "cannot map: %s", strerror(errno));
    part->base = base;
    part->size = (size_t)st.st_size;
    part->mapped = true;
    return INGOT_OK;
}

ingot_status gguf_map(gguf_part *part, const char *path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block the open */
    if (fd < 0) return ingot_fail(INGOT_E_IO, "cannot open: %s", strerror(errno));
    const ingot_status s = map_descriptor(part, fd);
    close(fd); /* the mapping stays */
    return s;
}

void gguf_unmap(gguf_part *part) {
    if (part->mapped) munmap((void *)(uintptr_t)part->base, part->size);
    part->base = NULL;
    part->mapped = false;
}
