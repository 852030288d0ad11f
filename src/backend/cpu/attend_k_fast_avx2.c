/* First phase of the packed attention: scores of a block of rows with the 64 tokens of a K tile. AVX2, fast: codes of at most 4 bits. */
#include "attend_dot_avx2.h"
#include "attend_k_digits.h"

K_INSTANCES(k_linear4, TILE_LINEAR4, 1)
K_INSTANCES(k_book4, TILE_BOOK4, 1)
K_INSTANCES(k_book3, TILE_BOOK3, 1)
K_INSTANCES(k_book2, TILE_BOOK2, 1)

const attend_phase ingot_attend_k_fast_avx2[ATTEND_KINDS][BLOCK_SIZES] = {
    [TILE_LINEAR4] = ATTEND_ROW(k_linear4), [TILE_BOOK4] = ATTEND_ROW(k_book4), [TILE_BOOK3] = ATTEND_ROW(k_book3), [TILE_BOOK2] = ATTEND_ROW(k_book2)};
