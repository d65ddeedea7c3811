//! Schemas of the answers of an endpoint: the answer to the examples of its table, joined with the answer to each other
//! word, flag and path word that the tables allow. Never: a parameter that is not in the table.

use super::schema::{either_content, of_catalog, of_facts, of_listing, of_rows, of_symbols, of_text};
use super::words::{samples_of_segment, segments};
use crate::query::Query;
use crate::query::parameter::{Parameter, ParameterForm};
use crate::refusal::Refusal;
use crate::vendors::layer::{Layer, RequestContext, Serve};
use serde_json::Value;

/// A request as its table allows it: the words of its path, and its parameters.
#[derive(Clone)]
pub(super) struct Allowed {
    path: Vec<(&'static str, String)>,
    pairs: Vec<(&'static str, String)>,
}

impl Allowed {
    /// The first word of each segment, and the example of each parameter that has one.
    pub(super) fn examples(layer: &Layer) -> Self {
        let word = |name| samples_of_segment(name).first().copied().unwrap_or_default();
        let given = layer.parameters.iter().filter(|of| !of.example().is_empty());
        Self {
            path: segments(layer.path).map(|name| (name, word(name).to_owned())).collect(),
            pairs: given.map(|of| (of.name(), of.example().to_owned())).collect(),
        }
    }

    /// The request with another word of its path.
    fn on(&self, name: &'static str, word: &str) -> Self {
        let mut other = self.clone();
        other.path.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, of)| word.clone_into(of));
        other
    }

    /// The request with this value of a parameter.
    pub(super) fn with(&self, name: &'static str, value: &str) -> Self {
        let mut other = self.without(name);
        other.pairs.push((name, value.to_owned()));
        other
    }

    /// The request without a parameter.
    pub(super) fn without(&self, name: &str) -> Self {
        let mut other = self.clone();
        other.pairs.retain(|(known, _)| *known != name);
        other
    }

    /// Its query text.
    pub(super) fn text(&self) -> String {
        let pairs = self.pairs.iter().map(|(name, value)| format!("{name}={}", value.replace(':', "%3A")));
        pairs.collect::<Vec<_>>().join("&")
    }

    /// Parses a query text together with the words of its path.
    pub(super) fn query<'a>(&self, text: &'a str) -> Query<'a> {
        Query::parse(text).with_segments(self.path.clone())
    }
}

/// The content of an endpoint's answers by type; `None`: the endpoint refuses every example of its tables.
pub(super) fn content(layer: &Layer, context: &RequestContext<'_>) -> Option<Value> {
    let base = Allowed::examples(layer);
    let mut all = vec![base.clone()];
    for name in segments(layer.path) {
        all.extend(samples_of_segment(name).iter().skip(1).map(|word| base.on(name, word)));
    }
    let words = |of: &&&dyn Parameter| !values(of.form()).is_empty();
    for of in layer.parameters.iter().filter(words) {
        all.extend(values(of.form()).iter().map(|value| base.with(of.name(), value)));
    }
    // a flag may rename what a word spells in another way
    let is_flag = |of: &&&dyn Parameter| of.form() == ParameterForm::Flag;
    let is_word = |of: &&&dyn Parameter| matches!(of.form(), ParameterForm::Word(_));
    for flag in layer.parameters.iter().filter(is_flag) {
        for of in layer.parameters.iter().filter(is_word) {
            let both = |value: &&'static str| base.with(flag.name(), "true").with(of.name(), value);
            all.extend(values(of.form()).iter().map(both));
        }
    }
    all.iter().filter_map(|request| answer(layer, context, request).ok()).reduce(either_content)
}

/// The words that a parameter may have.
fn values(form: ParameterForm) -> Vec<&'static str> {
    match form {
        ParameterForm::Word(words) | ParameterForm::Words(words) => words,
        ParameterForm::Flag => vec!["true", "false"],
        _ => Vec::new(),
    }
}

/// The content of the answer to one request.
fn answer(layer: &Layer, context: &RequestContext<'_>, request: &Allowed) -> Result<Value, Refusal> {
    let (text, clock) = (request.text(), context.clock());
    let query = request.query(&text);
    Ok(match layer.serve {
        Serve::Rows(parse) => of_rows(parse(&query)?, &clock, context),
        Serve::Listing(parse) => of_listing(&parse(&query)?, &clock),
        Serve::Symbols(parse) => of_symbols(&parse(&query)?, &clock),
        Serve::Facts(parse) => of_facts(&parse(&query)?),
        Serve::Catalog(parse) => of_catalog(parse(&query)?, &clock),
        Serve::Names(parse) => {
            let list = parse(&query)?;
            of_text(&(list.write)(&list.names, context, &clock)?)
        }
        Serve::Text(write) => of_text(&write(&query)?),
    })
}
