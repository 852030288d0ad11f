/* Files that are replaced as wholes: a name always leads to a whole file, the old or the new one. C11, C++-clean; thread-safe. */
#ifndef INGOT_FILE_H
#define INGOT_FILE_H
#include <ingot/status.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Writes data[n] to a temporary file, forces it to the disk and gives it the name; a file that was there keeps its permissions. Where `path` is a symbolic
 * link, the file that it leads to is replaced and the link stays. Nothing but regular files is ever replaced. On failure what was there stays, and nothing
 * is left behind. INGOT_E_IO, with the path in the message. */
ingot_status ingot_replace_file(const char *path, const void *data, size_t n);
/* What ingot_replace_file would refuse before it writes: something at `path` that is no regular file or may not be written, a link to nothing, a folder
 * that is not there or may not be written. */
ingot_status ingot_replace_file_check(const char *path);

#ifdef __cplusplus
}
#endif
#endif
