/* Replacing files: wholes only, through links, and nothing but regular files. */
#include "test.h"
#include <ingot/calibration.h>
#include <ingot/file.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct folder {
    char name[32], path[96];
} folder;

static const char *in(folder *f, const char *name) {
    snprintf(f->path, sizeof f->path, "%s/%s", f->name, name);
    return f->path;
}

static bool folder_open(folder *f) {
    strcpy(f->name, "/tmp/ingot-files-XXXXXX");
    return CHECK(mkdtemp(f->name) != NULL);
}

/* Takes the names away, and checks that nothing else was left. */
static void folder_close(folder *f, const char *const *names) {
    for (; *names; names++) remove(in(f, *names));
    CHECK_INT(rmdir(f->name), 0);
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!CHECK(f != NULL)) return;
    fputs(text, f);
    fclose(f);
}

static void check_content(const char *path, const char *want) {
    char got[64] = "";
    FILE *f = fopen(path, "r");
    if (!CHECK(f != NULL)) return;
    got[fread(got, 1, sizeof got - 1, f)] = 0;
    fclose(f);
    CHECK_STR(got, want);
}

TEST("files/a new file, and an old one that keeps its permissions") {
    folder f;
    struct stat st;
    if (!folder_open(&f)) return;
    CHECK_OK(ingot_replace_file_check(in(&f, "a")));
    CHECK_OK(ingot_replace_file(in(&f, "a"), "one", 3));
    check_content(f.path, "one");
    CHECK_INT(chmod(f.path, 0640), 0);
    CHECK_OK(ingot_replace_file(f.path, "other", 5));
    check_content(f.path, "other");
    CHECK_INT(stat(f.path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    CHECK_STATUS(ingot_replace_file(in(&f, "no/such"), "x", 1), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "no/such");
    CHECK_STATUS(ingot_replace_file_check(in(&f, "no/such")), INGOT_E_IO);
    folder_close(&f, (const char *const[]){"a", NULL});
}

TEST("files/links stay, and the file that they lead to is replaced") {
    folder f;
    struct stat st;
    char to[96];
    if (!folder_open(&f)) return;
    CHECK_INT(mkdir(in(&f, "there"), 0777), 0);
    write_text(in(&f, "there/file"), "old");
    strcpy(to, f.path);
    CHECK_INT(symlink("there/file", in(&f, "link")), 0);
    CHECK_OK(ingot_replace_file(f.path, "new", 3));
    CHECK_INT(lstat(f.path, &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    check_content(to, "new");
    CHECK_INT(symlink("nowhere", in(&f, "broken")), 0);
    CHECK_STATUS(ingot_replace_file(f.path, "x", 1), INGOT_E_IO);
    CHECK_HAS(ingot_last_error(), "broken");
    folder_close(&f, (const char *const[]){"link", "broken", "there/file", "there", NULL});
}

TEST("files/pipes, folders and links to them are never replaced") {
    folder f;
    struct stat st;
    if (!folder_open(&f)) return;
    CHECK_INT(mkfifo(in(&f, "pipe"), 0666), 0);
    CHECK_INT(symlink("pipe", in(&f, "link")), 0);
    CHECK_INT(mkdir(in(&f, "folder"), 0777), 0);
    for (const char *const *name = (const char *const[]){"pipe", "link", "folder", NULL}; *name; name++) {
        CHECK_STATUS(ingot_replace_file(in(&f, *name), "x", 1), INGOT_E_IO);
        CHECK_HAS(ingot_last_error(), "no regular file");
        CHECK_STATUS(ingot_calibration_target_check(f.path), INGOT_E_IO);
    }
    CHECK_INT(stat(in(&f, "pipe"), &st), 0);
    CHECK(S_ISFIFO(st.st_mode));
    folder_close(&f, (const char *const[]){"pipe", "link", "folder", NULL});
}

TEST("files/a calibration takes no other file's place") {
    folder f;
    static const uint8_t fingerprint[16] = {1};
    ingot_calibration_writer *w;
    if (!folder_open(&f) || !CHECK_OK(ingot_calibration_writer_create(&w, fingerprint, "nothing"))) return;
    write_text(in(&f, "letter"), "Dear Ann");
    CHECK_STATUS(ingot_calibration_writer_save(w, f.path), INGOT_E_INVALID);
    CHECK_HAS(ingot_last_error(), "letter: is there and is no calibration");
    check_content(f.path, "Dear Ann");
    write_text(in(&f, "empty"), "");
    CHECK_OK(ingot_calibration_writer_save(w, f.path));
    CHECK_OK(ingot_calibration_writer_save(w, f.path)); /* a calibration is there now */
    ingot_calibration_writer_destroy(w);
    folder_close(&f, (const char *const[]){"letter", "empty", NULL});
}
