/* Last phase of the packed attention: the rows' weights times the V tile, added to their outputs. AVX-VNNI. */
#include "attend_dot_avxvnni.h"
#include "attend_f16.h"
#include "attend_v_digits.h"

ATTEND_INTEGERS(v, v_integer, 1)
ATTEND_INTEGERS(v, v_integer, 2)
ATTEND_INSTANCES(v_f16, v_f16)

const attend_phase ingot_attend_v_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_TABLE(v, 1), ATTEND_TABLE(v, 2)};
