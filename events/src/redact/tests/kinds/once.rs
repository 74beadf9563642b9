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
    // Words in which digits stand for letters, numbers, and names of two words.
    "token=‹Vault0fTears›",
    "curl --token=‹M4ngoJuice› https://x.example",
    "curl --token ‹M4ngoJuice2› https://x.example",
    "token: ‹P4payaMilk›",
    "pw: ‹B4nanaSplit›",
    "api key: ‹Zq81LmNoPw73Xy›",
    "Error: invalid api key ‹Zq81LmNoPw73Xy›",
    "API Key ‹Zq81LmNoPw73Xy› was refused",
    "{\"pin\":\"‹990817›\"}",
    "pin=‹990817›",
    // Values that hold what ends others.
    "DB_PASSWORD=‹Tr0ub;le2024›",
    "DB_PASSWORD=‹pa;ss2024word›",
    "export DB_PASSWORD=‹hunter2;rest2024›\nexport A=1",
    "DB_PASSWORD=‹pa<ss2024word›",
    "DB_PASSWORD=‹pa'ss2024word›",
    "password: ‹Hunter,2024x›",
    "  password: ‹Hunter,2024x›\n  user: app",
];
