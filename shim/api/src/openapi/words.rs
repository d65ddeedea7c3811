//! Prose of the document: the description of the API, and the words of paths with examples. Never: a parameter of a
//! query; those are in the layers' tables.

/// Description of the API.
pub(super) const ABOUT: &str = "All layers read one engine, so a contract has identical Greeks everywhere. Native units: \
    vega, rho and epsilon per 1 %, theta per calendar day, charm, veta and color per year, all per share. Each response comes \
    from one snapshot. No API key is needed; vendors' keys are accepted and ignored, in headers and parameters. Vendors' \
    layers ignore unknown parameters; the native API refuses them.";

/// Words of paths: name, description and examples; several examples are all possible words.
const SEGMENTS: &[(&str, &str, &[&str])] = &[
    ("symbol", "Symbol of the underlying", &["SPY"]),
    ("underlying", "Symbol of the underlying", &["SPY"]),
    ("expiration", "Expiration date", &["2026-12-18"]),
    ("order", "Which Greeks", &["all", "first_order", "second_order", "third_order", "implied_volatility"]),
    (
        "what",
        "Kind of data",
        &[
            "quote",
            "eod",
            "eod_greeks",
            "greeks",
            "greeks_second_order",
            "greeks_third_order",
            "all_greeks",
            "implied_volatility",
            "open_interest",
        ],
    ),
    ("contract", "OSI symbol of the contract", &["O:SPY261218C00720000"]),
    ("optionSymbol", "OSI symbol of the contract", &["SPY261218C00720000"]),
];

/// Former names of fields, each with its present name. A description marks them as deprecated.
const DEPRECATED: &[(&str, &str)] = &[("rough", "preliminary")];

/// The present name of a deprecated field; `None`: the field is not deprecated.
pub(super) fn present_name(field: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(former, _)| *former == field).map(|&(_, present)| present)
}

/// The words of a path's pattern.
pub(super) fn segments(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
}

/// Description of a word of a path.
pub(super) fn of_segment(name: &str) -> &'static str {
    SEGMENTS.iter().find(|(known, ..)| *known == name).map_or("", |&(_, words, _)| words)
}

/// Examples of a word of a path; several are all possible words.
pub(super) fn samples_of_segment(name: &str) -> &'static [&'static str] {
    SEGMENTS.iter().find(|(known, ..)| *known == name).map_or(&["SPY"], |&(_, _, samples)| samples)
}
