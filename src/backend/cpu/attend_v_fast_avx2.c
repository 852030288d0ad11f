/* Last phase of the packed attention: the rows' weights times the V tile, added to their outputs. AVX2, fast: codes of at most 4 bits. */
#include "attend_dot_avx2.h"
#include "attend_v_digits.h"

ATTEND_SMALL_CODES(v, v_integer, 1)

const attend_phase ingot_attend_v_fast_avx2[ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_SMALL_CODE_ROWS(v, 1)};
