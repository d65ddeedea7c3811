//! Runs the parser of an endpoint on made-up queries and notes what it reads, so that no list of its parameters is kept
//! beside it: with nothing, with what it says is missing, with each word and flag that it then asks for, and with each two of
//! these.

use super::schema::{either_content, of_catalog, of_listing, of_rows, of_symbols, of_text};
use super::words::{samples_of_segment, segments};
use crate::query::{ParameterForm, ParameterReads, Query};
use crate::refusal::Refusal;
use crate::rows::clock::Clock;
use crate::vendors::layer::{Layer, RequestContext, Serve};
use serde_json::Value;

/// A parameter of an endpoint.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) form: ParameterForm,
    /// Nothing is answered without it.
    pub(super) required: bool,
    /// A value that was taken.
    pub(super) example: Option<String>,
}

/// What is known of an endpoint.
pub(super) struct Probed {
    pub(super) parameters: Vec<Parameter>,
    /// The content of its answers by type, if a query was found that it takes.
    pub(super) answer: Option<Value>,
}

/// What a parameter may want, tried one after the other where its form is not known.
const CANDIDATES: [&str; 7] = ["SPY", "2026-12-18", "20261218", "SPY261218C00720000", "true", "1", "09:30:00"];
/// More tries than any parser has parameters that it insists on, times the candidates.
const TRIES: usize = 60;

type Given = Vec<(String, String)>;

/// What the parser of an endpoint reads, and what the endpoint answers.
pub(super) fn run(layer: &Layer, context: &RequestContext<'_>) -> Probed {
    let reads = ParameterReads::default();
    let mut required = Vec::new();
    let (base, mut answer) = complete(layer, context, &reads, Vec::new(), Some(&mut required));
    let join = |answer: Option<Value>, other: Option<Value>| match (answer, other) {
        (Some(one), Some(other)) => Some(either_content(one, other)),
        (one, other) => one.or(other),
    };
    for name in segments(layer.path) {
        for sample in samples_of_segment(name).iter().skip(1) {
            let mut given = base.clone();
            given.push((in_path(name), (*sample).to_owned()));
            answer = join(answer, complete(layer, context, &reads, given, None).1);
        }
    }
    // words and flags may lead to parameters that nothing else does
    let mut known = 0;
    while known < reads.all().len() {
        let found = reads.all();
        for (name, form) in &found[known..] {
            for word in choices(form) {
                let mut given = base.clone();
                given.retain(|(other, _)| other != name);
                given.push((name.clone(), word));
                let (_, other) = complete(layer, context, &reads, given, None);
                answer = join(answer, other);
            }
        }
        known = found.len();
    }
    // a flag may name otherwise what a word spells otherwise
    let found = reads.all();
    for (flag, _) in found.iter().filter(|(_, form)| *form == ParameterForm::Flag) {
        for (name, form) in found.iter().filter(|(_, form)| matches!(form, ParameterForm::Word(_))) {
            for word in choices(form) {
                let mut given = base.clone();
                given.retain(|(other, _)| other != name && other != flag);
                given.extend([(flag.clone(), "true".to_owned()), (name.clone(), word)]);
                answer = join(answer, complete(layer, context, &reads, given, None).1);
            }
        }
    }
    let parameters = reads.all().into_iter().map(|(name, form)| {
        let required = required.contains(&name);
        let example = base.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Parameter { name, form, required, example }
    });
    Probed { parameters: parameters.collect(), answer }
}

/// Values that may lead elsewhere.
fn choices(form: &ParameterForm) -> Vec<String> {
    match form {
        ParameterForm::Word(words) | ParameterForm::Words(words) => words.iter().map(|&word| word.to_owned()).collect(),
        ParameterForm::Flag => vec!["true".to_owned(), "false".to_owned()],
        ParameterForm::Integer(bounds) => vec![1.clamp(*bounds.start(), *bounds.end()).to_string()],
        _ => Vec::new(),
    }
}

/// Gives the parser what it says is missing or wrong, as long as it says so; what it was given in the end, and what it
/// answers then. `required` takes the names of parameters that were missing.
fn complete(
    layer: &Layer,
    context: &RequestContext<'_>,
    reads: &ParameterReads,
    mut given: Given,
    mut required: Option<&mut Vec<String>>,
) -> (Given, Option<Value>) {
    for _ in 0..TRIES {
        let refusal = match ask(layer, context, reads, &given) {
            Ok(answer) => return (given, answer),
            Err(refusal) => refusal,
        };
        match refusal {
            Refusal::Missing { parameter } => {
                let is_one = reads.all().iter().any(|(name, _)| *name == parameter);
                let names: Vec<&str> = parameter.split([' ', ',']).filter(|word| !word.is_empty()).collect();
                let names = if is_one { vec![&*parameter] } else { names };
                if let (true, Some(required)) = (is_one, required.as_deref_mut()) {
                    required.push(parameter.clone().into_owned());
                }
                let Some(name) = names.into_iter().find(|name| !given.iter().any(|(known, _)| known == name)) else {
                    break;
                };
                given.push((name.to_owned(), first_guess(name, reads)));
            }
            Refusal::Invalid { parameter, value, .. } => {
                // a layer may call it otherwise in its refusals
                let is_meant = |(name, known): &&mut (String, String)| *name == parameter || *known == value;
                let Some(place) = given.iter_mut().find(is_meant) else { break };
                let form = reads.all().into_iter().find(|(name, _)| *name == place.0).map(|(_, form)| form);
                let candidates = match form {
                    Some(ParameterForm::Word(words) | ParameterForm::Words(words)) => words,
                    _ => CANDIDATES.to_vec(),
                };
                let next = candidates.iter().position(|candidate| *candidate == value).map_or(0, |at| at + 1);
                let Some(candidate) = candidates.get(next) else { break };
                (*candidate).clone_into(&mut place.1);
            }
            _ => break,
        }
    }
    (given, None)
}

fn first_guess(name: &str, reads: &ParameterReads) -> String {
    let form = reads.all().into_iter().find(|(known, _)| known == name).map(|(_, form)| form);
    match form {
        Some(ParameterForm::Word(words) | ParameterForm::Words(words)) => {
            words.first().copied().unwrap_or("").to_owned()
        }
        _ => CANDIDATES[0].to_owned(),
    }
}

/// Under which name the word of a path is among what is given.
fn in_path(name: &str) -> String {
    format!("{{{name}}}")
}

/// What the endpoint answers to a query, as content by type; none where it answers only about the past.
fn ask(
    layer: &Layer,
    context: &RequestContext<'_>,
    reads: &ParameterReads,
    given: &Given,
) -> Result<Option<Value>, Refusal> {
    let text = form_urlencoded(given);
    let word = |name: &str| {
        let given = given.iter().find(|(known, _)| *known == in_path(name)).map(|(_, word)| word.clone());
        given.unwrap_or_else(|| samples_of_segment(name).first().copied().unwrap_or_default().to_owned())
    };
    let path = segments(layer.path).map(|name| (name, word(name))).collect();
    let query = Query::parse(&text).with_segments(path).noting(reads);
    let clock = Clock::new(context.snapshot.time, context.now, context.zone);
    Ok(match layer.serve {
        Serve::Rows(parse) => Some(of_rows(parse(&query)?, &clock, context)),
        Serve::Listing(parse) => Some(of_listing(&parse(&query)?, &clock)),
        Serve::Symbols(parse) => Some(of_symbols(&parse(&query)?, &clock)),
        Serve::Catalog(parse) => Some(of_catalog(parse(&query)?, &clock)),
        Serve::Names(parse) => {
            let list = parse(&query)?;
            Some(of_text(&(list.write)(&list.names, context, &clock)?))
        }
        Serve::Text(write) => Some(of_text(&write(&query)?)),
    })
}

fn form_urlencoded(given: &Given) -> String {
    let pairs = given
        .iter()
        .filter(|(name, _)| !name.starts_with('{'))
        .map(|(name, value)| format!("{name}={}", value.replace(':', "%3A")));
    pairs.collect::<Vec<_>>().join("&")
}
