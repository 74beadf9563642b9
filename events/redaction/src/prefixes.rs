//! The table of credentials that are recognised by their prefix, one row per family.
//!
//! A row holds the prefixes (case-sensitive), the kind that replaces the credential, the alphabet of its body, and its
//! least length including the prefix. The exact lengths that issuers promise today are not required: they have changed
//! before, and half a key is still a key. Only a prefix short enough to occur by chance requires the whole length, or a
//! body that words do not match ([`Body::Random`]).
//!
//! Each group names the public documents from which the formats were taken. No row holds an example, so that no scanner
//! takes this file for a leak. The tests generate one for every row from its prefix and alphabet.
//!
//! A new family is one row here, a new prefix one word. Credentials without a prefix (with a mark in the middle, say) have rules of their own
//! in `shape.rs`; those that only their name gives away belong to `name.rs`.

use super::table::{count, spread};

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Key {
    /// The prefix, case-sensitive, of at least two characters.
    pub(super) prefix: &'static str,
    /// The kind that the redaction mark shows.
    pub(super) kind: &'static str,
    /// What its body is made of.
    pub(super) body: Body,
    /// The least length, prefix included, in characters.
    pub(super) least: usize,
}

/// The alphabet of a key's body, and further conditions on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// Uppercase letters and digits.
    Upper,
    /// Uppercase letters, digits, `-`.
    UpperHyphen,
    /// Lowercase letters and digits, at least one of each.
    Lower,
    /// Letters and digits.
    Alphanumeric,
    /// Letters and digits, at least one of each.
    Mixed,
    /// Hexadecimal digits.
    Hex,
    /// Hexadecimal digits and `-`.
    HexHyphen,
    /// A UUID.
    Uuid,
    /// Letters, digits, `_`; words joined by `_` are not a key.
    Word,
    /// Letters, digits, `_`, `-`; words joined by hyphens are not a key.
    Hyphenated,
    /// Letters, digits, `_`, `-`, and random: for prefixes that are words themselves.
    Random,
    /// Letters, digits, `_`, `-`, `.`; needs a digit.
    Dotted,
    /// Base64: letters, digits, `+`, `/`, `=`.
    Base64,
    /// URL-safe Base64: letters, digits, `_`, `-`, `=`, and the characters of [`Body::Base64`].
    Base64Url,
    /// Fourteen letters and digits, a dot, hexadecimal digits.
    AirTable,
}

/// A family that is cut from [`MIN_KEY_CHARS`](super::MIN_KEY_CHARS) characters on, with its prefixes.
const fn family(kind: &'static str, body: Body, prefixes: &'static str) -> (Key, &'static str) {
    long(kind, body, super::MIN_KEY_CHARS, prefixes)
}

/// A family whose prefixes may occur by chance: cut only from `least` characters on.
const fn long(kind: &'static str, body: Body, least: usize, prefixes: &'static str) -> (Key, &'static str) {
    (Key { prefix: "", kind, body, least }, prefixes)
}

const FAMILIES: &[(Key, &str)] = &[
    // Models. platform.openai.com, docs.anthropic.com, openrouter.ai/docs, huggingface.co/docs/hub/security-tokens,
    // console.groq.com/docs, docs.x.ai, replicate.com/docs, docs.perplexity.ai, docs.smith.langchain.com and alike.
    family("api_key", Body::Hyphenated, "sk- xai- pplx- csk- nvapi- tgp_v1_ tvly-"),
    family("huggingface_token", Body::Alphanumeric, "hf_ api_org_"),
    family("api_key", Body::Alphanumeric, "gsk_ r8_ crsr_"),
    family("api_key", Body::Random, "jina_ voyage-"),
    family("api_key", Body::Word, "lsv2_pt_ lsv2_sk_ pcsk_ wandb_v1_ bb_live_"),
    long("api_key", Body::Random, 40, "pa-"),
    long("api_key", Body::Hex, 35, "fc-"),
    long("api_key", Body::Random, 24, "fw_"),
    long("api_key", Body::Hex, 40, "sk_ e2b_"),
    long("api_key", Body::Hex, 60, "key_"),
    // Clouds. docs.aws.amazon.com/IAM (unique identifiers), cloud.google.com/docs/authentication/api-keys,
    // docs.digitalocean.com/reference/api, alibabacloud.com/help, cloud.tencent.com, yandex.cloud/docs,
    // developers.cloudflare.com/fundamentals/api, devcenter.heroku.com, fly.io/docs, aiven.io/docs.
    family("aws_key", Body::Upper, "AKIA ASIA ABIA ACCA"),
    long("aws_key", Body::Base64, 80, "ABSK"),
    family("aws_key", Body::Base64, "bedrock-api-key-"),
    long("aws_token", Body::Base64, 100, "IQoJb3JpZ2lu FwoGZXIvYXdz"),
    family("aws_key", Body::Hyphenated, "amzn.mws."),
    family("google_key", Body::Hyphenated, "AIza GOCSPX-"),
    family("google_token", Body::Dotted, "ya29."),
    long("google_token", Body::Random, 40, "1//0 4/0A"),
    long("google_token", Body::Hyphenated, 100, "APA91b"),
    family("digitalocean_token", Body::Alphanumeric, "dop_v1_ doo_v1_ dor_v1_"),
    family("alibaba_key", Body::Mixed, "LTAI"),
    long("tencent_key", Body::Mixed, 30, "AKID"),
    long("yandex_token", Body::Hyphenated, 38, "AQVN"),
    long("yandex_token", Body::Random, 40, "y0_"),
    long("cloudflare_token", Body::HexHyphen, 100, "v1.0-"),
    family("cloudflare_token", Body::Word, "cfut_ cfat_"),
    long("cloudflare_token", Body::Random, 24, "cfk_"),
    family("heroku_key", Body::Hyphenated, "HRKU-"),
    family("fly_token", Body::Hyphenated, "fo1_"),
    family("fly_token", Body::Base64, "fm1r_ fm1a_ fm2_"),
    family("aiven_password", Body::Hyphenated, "AVNS_"),
    family("api_key", Body::Word, "scw_secret_"),
    family("scalingo_token", Body::Hyphenated, "tk-us-"),
    family("render_key", Body::Random, "rnd_"),
    family("mongodb_key", Body::Hyphenated, "mdb_sa_sk_"),
    // Databases and data. planetscale.com/docs, supabase.com/docs, neon.tech/docs, docs.databricks.com, airtable.com.
    family("planetscale_token", Body::Dotted, "pscale_tkn_ pscale_pw_ pscale_oauth_"),
    family("supabase_key", Body::Alphanumeric, "sbp_"),
    family("supabase_key", Body::Hyphenated, "sb_secret_"),
    long("neon_key", Body::Random, 40, "napi_"),
    long("databricks_token", Body::HexHyphen, 36, "dapi dose"),
    long("airtable_token", Body::AirTable, 60, "pat"),
    // Code and packages. docs.github.com (token formats), docs.gitlab.com/security/tokens, support.atlassian.com,
    // circleci.com/docs, docs.npmjs.com, pypi.org/help, docs.docker.com, guides.rubygems.org, doc.rust-lang.org/cargo,
    // learn.microsoft.com/nuget, docs.sonarsource.com, docs.pulumi.com, developer.hashicorp.com, sourcegraph.com/docs.
    family("github_token", Body::Word, "ghp_ gho_ ghu_ ghr_ github_pat_"),
    family("github_token", Body::Dotted, "ghs_"),
    family("gitlab_token", Body::Dotted, "glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glptt- glimt- glagent-"),
    family("gitlab_token", Body::Dotted, "gloas- glffct- glwt-"),
    family("gitlab_token", Body::Hyphenated, "GR1348941"),
    family("atlassian_token", Body::Base64Url, "ATATT3 ATCTT3 ATSTT3"),
    family("bitbucket_token", Body::Mixed, "ATBB"),
    family("circleci_token", Body::Word, "CCIPAT_ CCIPRJ_"),
    family("buildkite_token", Body::Alphanumeric, "bkua_"),
    family("npm_token", Body::Alphanumeric, "npm_"),
    family("pypi_token", Body::Hyphenated, "pypi-"),
    family("docker_token", Body::Hyphenated, "dckr_pat_ dckr_oat_"),
    family("rubygems_key", Body::Alphanumeric, "rubygems_"),
    long("crates_io_token", Body::Mixed, 35, "cio"),
    long("nuget_key", Body::Lower, 46, "oy2"),
    family("clojars_token", Body::Alphanumeric, "CLOJARS_"),
    long("artifactory_key", Body::Alphanumeric, 60, "AKCp"),
    long("artifactory_key", Body::Alphanumeric, 64, "cmVmd"),
    family("sonar_token", Body::Alphanumeric, "squ_ sqp_ sqa_"),
    long("pulumi_token", Body::Hex, 40, "pul-"),
    family("sourcegraph_token", Body::Word, "sgp_ sgd_"),
    family("infracost_key", Body::Random, "ico-"),
    long("octopus_key", Body::Upper, 30, "API-"),
    family("prefect_key", Body::Alphanumeric, "pnu_"),
    family("settlemint_token", Body::Alphanumeric, "sm_aat_ sm_pat_ sm_sat_"),
    family("vercel_token", Body::Random, "vcp_ vck_ vercel_"),
    family("netlify_token", Body::Alphanumeric, "nfp_ nfc_"),
    // Secret stores. developer.hashicorp.com/vault, docs.doppler.com, developer.1password.com, age-encryption.org,
    // tailscale.com/kb, openshift (OAuth access tokens), nostr (NIP-19).
    family("vault_token", Body::Dotted, "hvs. hvb. hvr."),
    long("vault_token", Body::Mixed, 26, "s."),
    family("doppler_token", Body::Dotted, "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit."),
    family("onepassword_token", Body::Random, "ops_"),
    family("age_key", Body::UpperHyphen, "AGE-SECRET-KEY-"),
    family("tailscale_key", Body::Hyphenated, "tskey-"),
    family("openshift_token", Body::Hyphenated, "sha256~"),
    long("nostr_key", Body::Lower, 60, "nsec1"),
    // Wallets: extended private keys (BIP 32, SLIP 132).
    long("wallet_key", Body::Alphanumeric, 100, "xprv yprv zprv tprv"),
    // Chat and mail. api.slack.com/authentication/token-types, twilio.com/docs, docs.sendgrid.com, documentation.mailgun.com,
    // developers.brevo.com, resend.com/docs.
    family("slack_token", Body::Hyphenated, "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-"),
    family("slack_token", Body::Dotted, "xoxe."),
    long("twilio_key", Body::Hex, 34, "SK AC"),
    family("sendgrid_key", Body::Dotted, "SG."),
    long("mailgun_key", Body::HexHyphen, 36, "key-"),
    long("mailgun_key", Body::Hex, 39, "pubkey-"),
    family("brevo_key", Body::Hyphenated, "xkeysib- xsmtpsib-"),
    long("resend_key", Body::Random, 30, "re_"),
    // Payment. docs.stripe.com/keys, developer.squareup.com, razorpay.com/docs, plaid.com/docs, developer.flutterwave.com,
    // docs.lob.com, developer.gocardless.com, docs.mollie.com, developer.paddle.com, easypost.com/docs, duffel.com/docs.
    family("stripe_key", Body::Word, "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ ek_live_"),
    family("stripe_key", Body::Base64, "whsec_"),
    family("square_token", Body::Hyphenated, "sq0atp- sq0csp- sq0idp-"),
    long("square_token", Body::Random, 60, "EAAA"),
    family("razorpay_key", Body::Alphanumeric, "rzp_live_ rzp_test_"),
    family("plaid_token", Body::HexHyphen, "access-production- access-development- access-sandbox-"),
    family("flutterwave_key", Body::Hyphenated, "FLWSECK"),
    long("api_key", Body::Random, 30, "live_"),
    long("api_key", Body::Random, 35, "test_"),
    family("paddle_key", Body::Word, "pdl_live_apikey_ pdl_sdbx_apikey_"),
    long("easypost_key", Body::Alphanumeric, 50, "EZAK EZTK"),
    family("duffel_token", Body::Hyphenated, "duffel_live_ duffel_test_"),
    family("shippo_token", Body::Alphanumeric, "shippo_live_ shippo_test_"),
    // Services. shopify.dev/docs, linear.app/developers, developers.notion.com, figma.com/developers, docs.sentry.io,
    // grafana.com/docs, docs.newrelic.com, docs.dynatrace.com, developers.hubspot.com, learning.postman.com, docs.readme.com,
    // contentful.com/developers, typeform.com/developers, posthog.com/docs, launchdarkly.com/docs, developers.facebook.com.
    family("shopify_token", Body::Alphanumeric, "shpat_ shpca_ shppa_ shpss_"),
    family("linear_key", Body::Alphanumeric, "lin_api_ lin_oauth_"),
    family("notion_token", Body::Alphanumeric, "ntn_"),
    long("notion_token", Body::Mixed, 40, "secret_"),
    family("figma_token", Body::Hyphenated, "figd_ figo_"),
    family("sentry_token", Body::Base64Url, "sntrys_"),
    family("sentry_token", Body::Alphanumeric, "sntryu_"),
    family("grafana_token", Body::Word, "glsa_"),
    family("grafana_token", Body::Base64, "glc_"),
    long("grafana_token", Body::Base64, 60, "eyJrIjoi"),
    family("newrelic_key", Body::Hyphenated, "NRAK- NRJS- NRII- NRRA-"),
    family("dynatrace_token", Body::Dotted, "dt0c01. dt0s16."),
    family("hubspot_token", Body::HexHyphen, "pat-na1- pat-na2- pat-eu1-"),
    family("postman_key", Body::Hyphenated, "PMAK-"),
    family("readme_key", Body::Alphanumeric, "rdme_"),
    family("contentful_token", Body::Hyphenated, "CFPAT-"),
    family("typeform_token", Body::Dotted, "tfp_"),
    family("posthog_key", Body::Alphanumeric, "phx_"),
    family("launchdarkly_key", Body::Uuid, "sdk- api- mob-"),
    long("facebook_token", Body::Alphanumeric, 80, "EAAC EAAM"),
    long("dropbox_token", Body::Random, 60, "sl."),
    family("frameio_token", Body::Hyphenated, "fio-u-"),
    long("harness_key", Body::Dotted, 60, "sat. pat."),
    family("inngest_key", Body::Random, "signkey-"),
    family("trigger_key", Body::Alphanumeric, "tr_prod_"),
    family("stytch_key", Body::Base64Url, "secret-live- secret-test-"),
    family("ubidots_key", Body::Alphanumeric, "BBFF-"),
    // A private key block in Base64, as Kubernetes and CI variables hold it: `-----BEGIN … PRIVATE` in its six forms.
    family("private_key", Body::Base64, "LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBSU0EgUFJJVkFURS"),
    family("private_key", Body::Base64, "LS0tLS1CRUdJTiBFQyBQUklWQVRF LS0tLS1CRUdJTiBFTkNSWVBURUQg"),
    family("private_key", Body::Base64, "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUg LS0tLS1CRUdJTiBEU0EgUFJJVkFURS"),
];

/// Every known prefix. If one begins with another, both are tried, and the longer match wins.
pub(super) const KEYS: &[Key] = &{
    let rows = spread::<_, { count(FAMILIES, b' ') }>(FAMILIES, b' ');
    let mut keys = [FAMILIES[0].0; count(FAMILIES, b' ')];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = Key { prefix: rows[at].0, ..rows[at].1 };
        at += 1;
    }
    keys
};
