/* First phase of the packed attention: scores of a block of rows with the 64 tokens of a K tile. AVX-VNNI. */
#include "attend_dot_avxvnni.h"
#include "attend_f16.h"
#include "attend_k_digits.h"

ATTEND_INTEGERS(k, k_integer, 1)
ATTEND_INTEGERS(k, k_integer, 2)
ATTEND_INSTANCES(k_f16, k_f16)

const attend_phase ingot_attend_k_avxvnni[2][ATTEND_KINDS][BLOCK_SIZES] = {ATTEND_TABLE(k, 1), ATTEND_TABLE(k, 2)};
