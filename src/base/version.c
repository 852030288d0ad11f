#include <ingot/ingot.h>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *ingot_version(void) {
    return TEXT(INGOT_VERSION_MAJOR) "." TEXT(INGOT_VERSION_MINOR) "." TEXT(INGOT_VERSION_PATCH);
}
