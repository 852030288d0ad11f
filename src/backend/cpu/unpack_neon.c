#include "code_unpack.h"
#include "own_qjl.h"
#include "own_unpack.h"

const cpu_unpack ingot_unpack_neon = UNPACK_TABLE;
