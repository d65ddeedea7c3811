//! Facts of each underlying in a snapshot: its listed contracts, and how fresh its values are. Never: bytes.

use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::Symbol;

/// Age beyond which values are stale in an open market. The daemon renews the values of a name at least every minute,
/// even without new quotes.
const STALE_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// Selection of underlyings, and the part that an answer shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolSelection {
    /// Prefixes, one of which a symbol must have; empty: any symbol.
    pub prefixes: Vec<Symbol>,
    /// Only symbols after this one.
    pub after: Option<Symbol>,
    /// Maximum number of symbols.
    pub limit: Option<usize>,
}

/// Time at which freshness is judged, and the state of the market.
#[derive(Clone, Copy, Debug)]
pub struct FreshnessTerms {
    /// The time now.
    pub now: Timestamp,
    /// True if the market is open.
    pub is_open: bool,
}

/// State of the values of an underlying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolState {
    /// The values are current.
    Fresh,
    /// The market is closed; the values are those of its last session.
    Held,
    /// The market is open, and the values were not renewed for some minutes.
    Stale,
    /// There are no values, for a reason.
    Uncomputed(Uncomputed),
    /// The first values are being computed; only the symbol is known.
    Pending,
}

/// Facts of one underlying.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolFacts {
    /// The underlying.
    pub symbol: Symbol,
    /// The roots of its listed contracts, adjusted ones too, each once, by name.
    pub roots: Vec<Symbol>,
    /// Number of dates on which contracts expire.
    pub expiries: usize,
    /// First and last date of expiry.
    pub expiry_span: Option<(Date, Date)>,
    /// Number of listed contracts.
    pub contracts: u32,
    /// State of the values.
    pub state: SymbolState,
    /// True if early exercise is valued by a preliminary pass.
    pub preliminary: bool,
    /// Valuation time; in recorded chains, the time of the newest quote.
    pub valued_at: Option<Timestamp>,
}

impl SymbolState {
    /// Name of the state in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "ok",
            Self::Held => "held",
            Self::Stale => "stale",
            Self::Uncomputed(_) => "uncomputed",
            Self::Pending => "pending",
        }
    }

    /// Reason why there are no values.
    #[must_use]
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Uncomputed(why) => Some(why.name()),
            _ => None,
        }
    }

    fn of(chain: &Chain, terms: FreshnessTerms) -> Self {
        match chain.uncomputed {
            Some(why) => Self::Uncomputed(why),
            None if !terms.is_open => Self::Held,
            None if terms.now.duration_since(chain.valued_at) > STALE_AFTER => Self::Stale,
            None => Self::Fresh,
        }
    }
}

impl SymbolFacts {
    /// Facts of a computed chain.
    #[must_use]
    pub fn of(chain: &Chain, terms: FreshnessTerms) -> Self {
        let mut roots: Vec<Symbol> = chain.slices.iter().map(|slice| slice.root).collect();
        roots.sort_unstable();
        roots.dedup();
        // slices stand in the order of their expiry
        let mut dates: Vec<Date> = chain.slices.iter().map(|slice| slice.expiry).collect();
        dates.dedup();
        Self {
            symbol: chain.underlying,
            roots,
            expiries: dates.len(),
            expiry_span: dates.first().copied().zip(dates.last().copied()),
            contracts: chain.rows(),
            state: SymbolState::of(chain, terms),
            preliminary: chain.preliminary,
            valued_at: Some(chain.valued_at),
        }
    }

    /// Facts of a name before its first chain.
    #[must_use]
    pub fn pending(symbol: Symbol) -> Self {
        Self {
            symbol,
            roots: Vec::new(),
            expiries: 0,
            expiry_span: None,
            contracts: 0,
            state: SymbolState::Pending,
            preliminary: false,
            valued_at: None,
        }
    }
}

/// Facts of the selected underlyings, by symbol, and whether more follow.
#[must_use]
pub fn symbols(snapshot: &Snapshot, selection: &SymbolSelection, terms: FreshnessTerms) -> (Vec<SymbolFacts>, bool) {
    let SymbolSelection { prefixes, after, limit } = selection;
    let is_wanted = |symbol: Symbol| {
        let begins = |prefix: &Symbol| symbol.as_str().starts_with(prefix.as_str());
        after.is_none_or(|after| symbol > after) && (prefixes.is_empty() || prefixes.iter().any(begins))
    };
    let known = snapshot.chains().iter().map(|chain| (chain.underlying, Some(&**chain)));
    let pending = snapshot.pending().iter().map(|&symbol| (symbol, None));
    let mut wanted: Vec<(Symbol, Option<&Chain>)> = known.chain(pending).filter(|&(name, _)| is_wanted(name)).collect();
    wanted.sort_unstable_by_key(|&(symbol, _)| symbol);
    let n_shown = limit.map_or(wanted.len(), |limit| limit.min(wanted.len()));
    let facts = |&(symbol, chain): &(Symbol, Option<&Chain>)| {
        chain.map_or_else(|| SymbolFacts::pending(symbol), |chain| SymbolFacts::of(chain, terms))
    };
    (wanted[..n_shown].iter().map(facts).collect(), n_shown < wanted.len())
}
