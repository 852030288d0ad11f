/* One test of each outcome that the runner must tell apart; scripts/check.sh compares what it prints. */
#include "test.h"
#include <ingot/status.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

TEST("outcome/passes") { CHECK_INT(2 + 2, 4); }
TEST("outcome/fails") { CHECK_INT(2 + 2, 5); }
TEST("outcome/fails after it went on") {
    test_case("case %d", 7);
    CHECK_NEAR(1.0, NAN, 1.0);
    CHECK_STR("a", "a");
}
TEST("outcome/checks nothing") {}
TEST("outcome/crashes") {
    CHECK(true);
    raise(SIGSEGV);
}
TEST("outcome/exits") {
    CHECK(true);
    exit(0);
}
TEST("outcome/hangs") {
    CHECK(true);
    for (;;) pause();
}
TEST("outcome/skips") { test_skip("no %s here", "moon"); }
TEST("outcome/skips after a failure") {
    CHECK_STATUS(INGOT_OK, INGOT_E_IO);
    test_skip("too late");
}
TEST("outcome/nmse sees a nan") {
    const float want[2] = {1, 2}, got[2] = {1, NAN};
    CHECK_NMSE(got, want, 2, 0.5);
}
