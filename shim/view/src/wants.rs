//! Requests to the daemon: only for visible data, each again when there is a new snapshot. Never: a socket.

use super::metrics::ExposureScope;
use super::model::SliceKey;
use super::pages::TextPage;
use kernel::columns::Group;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of names in a search.
pub(crate) const FOUND_MOST: usize = 200;
/// Maximum days of the expiries that the watch list requests: the expiry nearest to a month is among them.
const WATCH_DAYS_MOST: u32 = 70;

/// Data that the screen needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wants {
    /// True if there is no name yet: all names, to find the one with the most contracts.
    pub(crate) any_name: bool,
    /// The name.
    pub(crate) name: Option<String>,
    /// Shown past moment; `None`: the present.
    pub(crate) as_of: Option<String>,
    /// True for the snapshots around the moment.
    pub(crate) moments: bool,
    /// Slice whose rows are shown, and the groups of the shown columns.
    pub(crate) slice: Option<(SliceKey, BTreeSet<Group>)>,
    /// Contracts of which all numbers are shown.
    pub(crate) detail: Option<[String; 2]>,
    /// Contracts to copy, with the number of the copy, since the same ones may be copied twice.
    pub(crate) copy: Option<(u64, [String; 2])>,
    /// Names of the watch list, if it is visible.
    pub(crate) watch: Vec<String>,
    /// True for the numbers of the expiries of the name.
    pub(crate) term: bool,
    /// Names whose numbers are shown.
    pub(crate) metrics: Vec<String>,
    /// Expiries whose exposures are shown.
    pub(crate) exposure: Option<ExposureScope>,
    /// Page of text over the screen.
    pub(crate) text: Option<TextPage>,
    /// Text in the search box: the begin of a name.
    pub(crate) search: Option<String>,
    /// True if the daemon serves no quotes, so that they are not requested.
    pub(crate) without_quotes: bool,
}

/// Subject of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// All names of the market, to choose one.
    AnyName,
    /// Status of a name.
    Name(String),
    /// The snapshots of a name around a moment.
    Moments(String, Option<String>),
    /// The expiries of a name.
    Expiries(String),
    /// The rows of a slice of a name.
    Chain(String, SliceKey),
    /// All numbers of contracts.
    Detail([String; 2]),
    /// Rows to copy, with the number of the copy.
    Copy(u64, [String; 2]),
    /// The watch list.
    Watch(Vec<String>),
    /// Numbers of names.
    Metrics(Vec<String>),
    /// Numbers of the expiries of a name.
    Term(String),
    /// Exposures of a name: by strike, or of all strikes.
    Exposure(String, ExposureScope, bool),
    /// Names that begin with a text.
    Found(String),
    /// A page of text.
    Text(TextPage),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    /// Subject of the request.
    pub(crate) subject: Subject,
    /// Path and query.
    pub(crate) target: String,
}

impl Wants {
    /// True if a past moment is shown.
    pub(crate) fn is_past(&self) -> bool {
        self.as_of.is_some()
    }

    /// The requests, the most urgent first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let mut requests = Vec::new();
        let moment = self.as_of.as_ref().map_or_else(String::new, |as_of| format!("&as_of={}", escaped(as_of)));
        let mut add = |subject, target: String| requests.push(Request { subject, target });
        if let Some(prefix) = &self.search {
            let prefix_given = if prefix.is_empty() { String::new() } else { format!("symbol={}&", escaped(prefix)) };
            add(Subject::Found(prefix.clone()), format!("/l1/symbols?{prefix_given}limit={FOUND_MOST}&format=csv"));
        }
        let detail = self.detail.iter().map(|pair| (pair, Subject::Detail(pair.clone())));
        let copy = self.copy.iter().map(|(number, pair)| (pair, Subject::Copy(*number, pair.clone())));
        for (pair, subject) in detail.chain(copy) {
            let both: Vec<String> = pair.iter().filter(|osym| !osym.is_empty()).map(|osym| escaped(osym)).collect();
            add(
                subject,
                format!("/l1/greeks?osym={}&greeks={}{moment}&format=csv", both.join(","), self.every_group()),
            );
        }
        if let Some(page) = &self.text {
            add(Subject::Text(page.clone()), page.target(escaped) + &moment);
        }
        if self.any_name {
            add(Subject::AnyName, "/l1/symbols?format=csv".to_owned());
        }
        if let Some(name) = &self.name {
            let is = escaped(name);
            if self.moments {
                let subject = Subject::Moments(name.clone(), self.as_of.clone());
                add(subject, format!("/l1/snapshots?underlying={is}{moment}"));
            }
            // the status of a name exists only for the present
            if !self.is_past() {
                add(Subject::Name(name.clone()), format!("/l1/symbols?symbol={is}&limit=1&format=csv"));
            }
            add(
                Subject::Expiries(name.clone()),
                format!("/l1/greeks?underlying={is}&center=atf&right=call&greeks=core,extra,chain{moment}&format=csv"),
            );
            if let Some((key, groups)) = &self.slice {
                let shown = groups.iter().filter(|group| !(self.without_quotes && **group == Group::Quote));
                let groups: Vec<&str> = shown.map(|group| group.name()).collect();
                let groups = if groups.is_empty() { "core".to_owned() } else { groups.join(",") };
                let (root, expiry) = (escaped(&key.root), escaped(&key.expiry));
                add(
                    Subject::Chain(name.clone(), key.clone()),
                    format!("/l1/greeks?underlying={is}&root={root}&exp={expiry}&greeks={groups}{moment}&format=csv"),
                );
            }
            if self.term {
                let target = format!("/l1/metrics?underlying={is}&by=expiry{moment}&format=csv");
                add(Subject::Term(name.clone()), target);
            }
            if let Some(scope) = &self.exposure {
                let expiry = match scope {
                    ExposureScope::All => String::new(),
                    ExposureScope::One(key) => format!("&root={}&exp={}", escaped(&key.root), escaped(&key.expiry)),
                };
                for (by, is_by_strike) in [("strike", true), ("name", false)] {
                    add(
                        Subject::Exposure(name.clone(), scope.clone(), is_by_strike),
                        format!("/l1/exposure?underlying={is}&by={by}{expiry}{moment}&format=csv"),
                    );
                }
            }
        }
        if !self.watch.is_empty() {
            let names: Vec<String> = self.watch.iter().map(|name| escaped(name)).collect();
            add(
                Subject::Watch(self.watch.clone()),
                format!(
                    "/l1/greeks?underlying={}&center=atf&right=call&max_days={WATCH_DAYS_MOST}&greeks=core,extra,chain{moment}&format=csv",
                    names.join(",")
                ),
            );
        }
        if !self.metrics.is_empty() {
            let names: Vec<String> = self.metrics.iter().map(|name| escaped(name)).collect();
            let target = format!("/l1/metrics?underlying={}{moment}&format=csv", names.join(","));
            add(Subject::Metrics(self.metrics.clone()), target);
        }
        requests
    }

    fn every_group(&self) -> &'static str {
        if self.without_quotes { "all" } else { "all,quote" }
    }
}

/// Percent-encodes text for a query.
fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Requests that were answered, with the number of the snapshot at that time.
#[derive(Debug, Default)]
pub(crate) struct FetchedAnswers(HashMap<Request, u64>);

impl FetchedAnswers {
    /// The first request that was not answered at this snapshot. Drops requests that are no longer wanted.
    pub(crate) fn next(&mut self, requests: Vec<Request>, number: u64) -> Option<Request> {
        self.0.retain(|known, _| requests.contains(known));
        requests.into_iter().find(|request| self.0.get(request) != Some(&number))
    }

    /// Notes that a request was answered at this snapshot.
    pub(crate) fn note(&mut self, request: Request, number: u64) {
        self.0.insert(request, number);
    }

    /// Drops all answers, since another daemon may answer next.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants() -> Wants {
        let key = SliceKey { expiry: "2026-12-18".to_owned(), root: "BRKB".to_owned() };
        let groups = BTreeSet::from([Group::Quote, Group::Core]);
        Wants { name: Some("BRK.B".to_owned()), slice: Some((key, groups)), ..Wants::default() }
    }

    fn targets(wants: &Wants) -> Vec<String> {
        wants.requests().into_iter().map(|request| request.target).collect()
    }

    #[test]
    fn only_what_is_shown_is_asked_for() {
        assert_eq!(targets(&Wants::default()), [""; 0]);
        let asked = targets(&wants());
        assert_eq!(asked.len(), 3);
        assert_eq!(asked[0], "/l1/symbols?symbol=BRK%2EB&limit=1&format=csv");
        assert!(asked[2].contains("root=BRKB&exp=2026%2D12%2D18&greeks=core,quote&"), "{}", asked[2]);
        let hidden = targets(&Wants { without_quotes: true, ..wants() });
        assert!(hidden[2].contains("greeks=core&"), "{}", hidden[2]);
        let pair = ["A 1".to_owned(), String::new()];
        let more =
            Wants { search: Some("a&b".to_owned()), copy: Some((1, pair)), watch: vec!["X".to_owned()], ..wants() };
        let asked = targets(&more);
        assert_eq!(asked[0], "/l1/symbols?symbol=a%26b&limit=200&format=csv");
        assert_eq!(asked[1], "/l1/greeks?osym=A%201&greeks=all,quote&format=csv");
        assert!(asked.len() == 6 && asked[5].starts_with("/l1/greeks?underlying=X&center=atf"), "{asked:?}");
    }

    #[test]
    fn nothing_is_asked_twice_of_one_snapshot() {
        let mut known = FetchedAnswers::default();
        let mut asked = Vec::new();
        while let Some(request) = known.next(wants().requests(), 5) {
            asked.push(request.subject.clone());
            known.note(request, 5);
        }
        assert_eq!(asked.len(), 3);
        assert!(known.next(wants().requests(), 6).is_some(), "another snapshot");
        // what was left and wanted again is asked again
        assert_eq!(known.next(Wants::default().requests(), 5), None);
        assert!(known.next(wants().requests(), 5).is_some());
        assert_eq!(known.0.len(), 0);
    }

    #[test]
    fn a_copy_is_asked_for_each_time_whatever_is_known() {
        let pair = || ["A1".to_owned(), "A2".to_owned()];
        let wants = |detail, copy| Wants { detail, copy, ..Wants::default() };
        let mut known = FetchedAnswers::default();
        for wants in [wants(Some(pair()), None), wants(Some(pair()), Some((1, pair()))), wants(None, Some((2, pair())))]
        {
            let request = known.next(wants.requests(), 5).unwrap();
            known.note(request, 5);
            assert_eq!(known.next(wants.requests(), 5), None);
        }
    }
}
