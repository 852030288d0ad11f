/* Error codes and the last error message. C11, C++-clean. */
#ifndef INGOT_STATUS_H
#define INGOT_STATUS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Every fallible function returns one of these; out-parameters come first and are cleared on failure. */
typedef enum ingot_status {
    INGOT_OK = 0,
    INGOT_E_INVALID,     /* an argument is wrong (a bug of the caller or a wrong option) */
    INGOT_E_NOMEM,       /* an allocation failed */
    INGOT_E_IO,          /* the operating system refused to read, write or map */
    INGOT_E_FORMAT,      /* a file is malformed */
    INGOT_E_UNSUPPORTED, /* well-formed, but not something this build can do */
    INGOT_E_FULL,        /* a preallocated capacity (tokens, pages, sessions) is used up */
    INGOT_E_CANCELLED    /* a callback asked to stop */
} ingot_status;

/* A short constant name of `s`, such as "malformed file". Never NULL. Thread-safe. */
const char *ingot_status_string(ingot_status s);

/* The message of the last failure on this thread, with the value that was wrong; "" when none.
 * Owned by the library, valid until the next failing call on the same thread. */
const char *ingot_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
