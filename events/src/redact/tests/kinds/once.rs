//! Texts of which a secret passed once; it stands between `‹` and `›`.

pub(super) const PASSED: &[&str] = &[
    // What is drawn, and goes on behind a sign.
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5!Winter99x›",
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5@Winter99x›",
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5#Winter99x›",
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5.Winter99x›",
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5~Winter99x›",
    "DB_PASSWORD=‹aB3dE5gH7jK9lM1nO3pQ5$Winter99x›",
    "password: ‹aB3dE5gH7jK9lM1nO3pQ5!Winter99x›",
    "app --password ‹aB3dE5gH7jK9lM1nO3pQ5!Winter99x› --verbose",
    "<password>‹aB3dE5gH7jK9lM1nO3pQ5!Winter99x›</password>",
    "{\"password\":\"‹kW8xyzq7Lm2pAB12CD34@Xy!77pq›\"}",
];
