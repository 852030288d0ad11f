/* Last phase of the packed attention: the rows' weights times the V tile, added to their outputs. AVX2, fast: codes of at most 4 bits. */
#include "attend_dot_avx2.h"
#include "attend_v_digits.h"

V_INSTANCES(v_linear4, TILE_LINEAR4, 1)
V_INSTANCES(v_book4, TILE_BOOK4, 1)
V_INSTANCES(v_book3, TILE_BOOK3, 1)
V_INSTANCES(v_book2, TILE_BOOK2, 1)

const attend_phase ingot_attend_v_fast_avx2[ATTEND_KINDS][BLOCK_SIZES] = {
    [TILE_LINEAR4] = ATTEND_ROW(v_linear4), [TILE_BOOK4] = ATTEND_ROW(v_book4), [TILE_BOOK3] = ATTEND_ROW(v_book3), [TILE_BOOK2] = ATTEND_ROW(v_book2)};
