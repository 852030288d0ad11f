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

/* Sines and cosines of n angles of [-1000, 1000] within 1e-12, side by side. */
static inline void ingot_sin_cos_of(const double *angle, int n, double *sine, double *cosine) {
    enum { MOST = 8 };
    double t[MOST], t2[MOST];
    int quadrant[MOST];
    for (int i = 0; i < n; i++) {
        const double turns = angle[i] * (2 / INGOT_PI);
        quadrant[i] = (int)(turns < 0 ? turns - 0.5 : turns + 0.5);
        t[i] = angle[i] - quadrant[i] * (INGOT_PI / 2), t2[i] = t[i] * t[i];
        sine[i] = cosine[i] = 0;
    }
    for (int k = 14; k >= 0; k -= 2)
        for (int i = 0; i < n; i++) sine[i] = 1 - t2[i] * sine[i] / ((k + 2) * (k + 3)), cosine[i] = 1 - t2[i] * cosine[i] / ((k + 1) * (k + 2));
    for (int i = 0; i < n; i++) {
        const double s = sine[i] * t[i], c = cosine[i], a = quadrant[i] & 1 ? c : s, b = quadrant[i] & 1 ? -s : c;
        sine[i] = quadrant[i] & 2 ? -a : a;
        cosine[i] = quadrant[i] & 2 ? -b : b;
    }
}

static inline void ingot_sin_cos(double angle, double *sine, double *cosine) { ingot_sin_cos_of(&angle, 1, sine, cosine); }
#endif
