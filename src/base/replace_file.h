/* Writing a file so that its name always leads to a whole file, the old or the new one. */
#ifndef INGOT_BASE_REPLACE_FILE_H
#define INGOT_BASE_REPLACE_FILE_H
#include <ingot/status.h>
#include <stddef.h>

/* Writes a temporary file beside `path`, forces it to the disk and renames it. On failure what was there stays, and nothing is left behind.
 * INGOT_E_IO, INGOT_E_NOMEM, with the path in the message. */
ingot_status ingot_replace_file(const char *path, const void *data, size_t n);
#endif
