/* Angles and their sines from basic operations alone: a block must hold the same codes, and decode to the same numbers, with every C library. */
#ifndef INGOT_CODEC_ANGLE_H
#define INGOT_CODEC_ANGLE_H

#define INGOT_PI 3.14159265358979324

/* Angle of (x, y) in [0, 2 pi), 0 for the origin; within 2e-10. */
static inline double ingot_angle(double x, double y) {
    const double ax = x < 0 ? -x : x, ay = y < 0 ? -y : y, most = ax > ay ? ax : ay, least = ax > ay ? ay : ax;
    double t = most > 0 ? least / most : 0, base = 0, sum = 0;
    if (t > 0.41421356237309505) t = (t - 1) / (t + 1), base = INGOT_PI / 4; /* |t| <= tan(pi / 8) */
    const double t2 = t * t;
    for (int n = 23; n >= 1; n -= 2) sum = 1.0 / n - t2 * sum;
    double angle = base + t * sum;
    if (ay > ax) angle = INGOT_PI / 2 - angle;
    if (x < 0) angle = INGOT_PI - angle;
    if (y < 0) angle = 2 * INGOT_PI - angle;
    return angle < 2 * INGOT_PI ? angle : 0;
}

/* Sine and cosine of an angle of [-1000, 1000] within 1e-12. */
static inline void ingot_sin_cos(double angle, double *sine, double *cosine) {
    const double turns = angle * (2 / INGOT_PI);
    const int quadrant = (int)(turns < 0 ? turns - 0.5 : turns + 0.5);
    const double t = angle - quadrant * (INGOT_PI / 2), t2 = t * t;
    double s = 0, c = 0;
    for (int n = 14; n >= 0; n -= 2) s = 1 - t2 * s / ((n + 2) * (n + 3)), c = 1 - t2 * c / ((n + 1) * (n + 2));
    s *= t;
    *sine = quadrant & 2 ? -(quadrant & 1 ? c : s) : (quadrant & 1 ? c : s);
    *cosine = (quadrant & 1 ? (quadrant & 2 ? s : -s) : (quadrant & 2 ? -c : c));
}
#endif
