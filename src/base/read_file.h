/* Reading a whole file. */
#ifndef INGOT_BASE_READ_FILE_H
#define INGOT_BASE_READ_FILE_H
#include <ingot/status.h>
#include <stddef.h>
#include <stdint.h>

/* *data [*n], to be released with ingot_dealloc, aligned to 64. Regular files only. Messages lack the path. INGOT_E_IO, INGOT_E_NOMEM. */
ingot_status ingot_read_file(uint8_t **data, size_t *n, const char *path);
#endif
