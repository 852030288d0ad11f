#include "gguf_file.h"
#include <string.h>
#include <strings.h>

static bool starts(const uint8_t *p, size_t n, const char *with) {
    const size_t k = strlen(with);
    return n >= k && memcmp(p, with, k) == 0;
}

static bool starts_nocase(const uint8_t *p, size_t n, const char *with) {
    const size_t k = strlen(with);
    return n >= k && strncasecmp((const char *)p, with, k) == 0;
}

static bool is_text(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n && i < 256; i++)
        if (p[i] >= 127 || (p[i] < ' ' && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')) return false;
    return true;
}

static bool is_zero(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n && i < 4096; i++)
        if (p[i]) return false;
    return true;
}

/* Length of a JSON header (u64), then the header. */
static bool is_safetensors(const uint8_t *p, size_t n) { return n > 9 && p[8] == '{' && ingot_le_u64(p) < n && !is_text(p, 8); }

static size_t skip_space(const uint8_t *p, size_t n) {
    size_t i = starts(p, n, "\xef\xbb\xbf") ? 3 : 0;
    while (i < n && strchr(" \t\r\n", p[i]) && p[i]) i++;
    return i;
}

const char *gguf_sniff(const uint8_t *p, size_t n) {
    static const struct { const char *magic, *what; } magics[] = {
        {"ggjt", "a GGML file from before GGUF"}, {"tjgg", "a GGML file from before GGUF"},
        {"lmgg", "a GGML file from before GGUF"}, {"fmgg", "a GGML file from before GGUF"},
        {"PK\x03\x04", "a zip archive (a PyTorch checkpoint?)"}, {"\x1f\x8b", "a gzip file"}, {"\x28\xb5\x2f\xfd", "a zstd file"},
        {"\xfd" "7zXZ", "an xz file"}, {"\x7f" "ELF", "a program"}, {"%PDF", "a PDF"}, {"\x80\x02", "a Python pickle"},
        {"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched"},
    };
    if (n < 4) return "only a few bytes (a failed download?)";
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (starts(p, n, magics[i].magic)) return magics[i].what;
    if (is_safetensors(p, n)) return "a safetensors file";
    const size_t at = skip_space(p, n);
    if (starts_nocase(p + at, n - at, "<!doctype") || starts_nocase(p + at, n - at, "<html") || starts_nocase(p + at, n - at, "<head"))
        return "an HTML page (a failed download?)";
    if (starts(p + at, n - at, "<")) return "an XML or HTML text (a failed download?)";
    if (is_text(p, n)) return starts(p + at, n - at, "{") ? "a JSON text" : "a text";
    if (is_zero(p, n)) return "zeros (an unfinished download?)";
    return "unknown data";
}
