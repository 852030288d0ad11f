/* First phase of the packed attention: scores of a block of rows with the 64 tokens of a K tile. AVX2, fast: codes of at most 4 bits. */
#include "attend_dot_avx2.h"
#include "attend_k_digits.h"

ATTEND_SMALL_CODES(k, k_integer, 1)

const attend_phase ingot_attend_k_fast_avx2[ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_SMALL_CODE_ROWS(k, 1)};
