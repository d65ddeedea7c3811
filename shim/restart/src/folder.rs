//! The state folder: closing volatilities of sessions (`vols-YYYY-MM-DD.csv`), closing rows of names
//! (`closes-YYYY-MM-DD.csv`; files and bounds in `closes.rs`), the last values of all live names
//! (`market-live.saved`), and the last whole market of each recorded folder (`market-recorded-TAG.saved`). Never: a
//! thread, a schedule.
//!
//! A file is written under another name and renamed, and the file and its folder are synced, so that after a power cut
//! there is the old file or the new one. A damaged or foreign file, or one of a version with another format, is moved
//! aside and not read again.

use crate::closes::{self, ClosesFolder};
use engine::closes::{Closes, ClosingRow};
use engine::snapshot::saved::{self, ExpiryClock, Saved, SavedError};
use engine::store::chain::Chain;
use engine::store::session::SessionVols;
use host::dated::{DatedFiles, Readable};
use host::private::{self, DAMAGED_OR_FOREIGN};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::contract::Symbol;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Maximum number of sessions in the folder.
const KEPT: usize = 5;
/// Maximum number of recorded folders with a saved market.
const MARKETS_KEPT: usize = 5;
/// Prefix of the files of closing volatilities.
const VOLS: &str = "vols-";
/// Prefix of the file of a recorded folder's market.
const RECORDED: &str = "market-recorded-";
/// File of all live names.
const LIVE: &str = "market-live.saved";
/// Why a saved market of another version is not read.
const OTHER_VERSION: &str = "was saved by another version of greeksd, which has other columns";
/// First line of a file of volatilities.
const HEADER: &[u8] = b"root,expiry,strike,right,svc_vol\n";
/// Age from which an unfinished file counts as abandoned: writing one takes seconds.
const LEFT_BEHIND: Duration = Duration::from_hours(1);

/// The state folder.
#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
    /// Lock against other daemons; `None`: not requested, or the folder cannot be written to.
    claim: Option<Arc<File>>,
}

/// The saved market that a daemon continues. It depends on the kind of its quotes and not on its names, so that a
/// changed watch list loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedMarket {
    /// Live quotes by name, from any source.
    Live,
    /// Quotes of recorded folders at these paths.
    Recorded(String),
}

impl SavedMarket {
    /// Name of the market within its file.
    fn name(&self) -> String {
        match self {
            Self::Live => "live".to_owned(),
            Self::Recorded(paths) => format!("recorded {paths}"),
        }
    }

    /// Clock by which contracts settle: recorded chains settle by their own time.
    fn expiry_clock(&self, now: Timestamp) -> ExpiryClock {
        match self {
            Self::Live => ExpiryClock::At(now),
            Self::Recorded(_) => ExpiryClock::ValuedAt,
        }
    }
}

/// Limits for saving volatilities under a session's date.
#[derive(Clone, Copy, Debug)]
pub struct Permit {
    /// Session of the system's clock: volatilities of a later one are refused.
    pub today: Date,
    /// True if the clock of the market is the system's. With another clock, which may be an experiment, volatilities
    /// are saved only if none of that session or of a later one is there.
    pub is_real: bool,
}

impl Permit {
    /// True if a session may be saved, where `last` is the last one that is there.
    fn admits(self, session: Date, last: Option<Date>) -> bool {
        session <= self.today && (self.is_real || last.is_none_or(|last| last < session))
    }
}

impl StateFolder {
    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a folder, which need not exist yet, and removes abandoned files.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let ours = [VOLS, "market-", closes::PREFIX];
            let is_ours = entry.file_name().to_str().is_some_and(|name| ours.iter().any(|of| name.starts_with(of)));
            let is_unfinished = entry.path().extension() == Some(OsStr::new("unfinished"));
            let age = entry.metadata().and_then(|facts| facts.modified()).ok().and_then(|at| at.elapsed().ok());
            if is_ours && is_unfinished && age.is_some_and(|age| age > LEFT_BEHIND) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Self { path: path.to_owned(), claim: None }
    }

    /// Opens a folder for one daemon alone, and creates it if need be. A folder that cannot be written to is logged,
    /// and only read. `None`: another daemon uses it.
    #[must_use]
    pub fn claimed(path: &Path) -> Option<Self> {
        let claim = match private::claim_folder(path, closes::LOCK) {
            Ok(lock) => Some(Arc::new(lock)),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return None,
            Err(error) => {
                tracing::warn!("state folder {}: {error}; nothing survives a restart", path.display());
                None
            }
        };
        Some(Self { claim, ..Self::open(path) })
    }

    /// True if the folder was writable when it was opened.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.claim.is_some()
    }

    /// Closing volatilities of the latest saved session before `session`; empty if there is none.
    #[must_use]
    pub fn before(&self, session: Date) -> SessionVols {
        let before = self.vols().all().into_iter().rev().filter(|&(date, _)| date < session);
        before.into_iter().find_map(|(date, _)| self.read(date)).unwrap_or_default()
    }

    /// Adds volatilities to those of a session, and removes the oldest sessions beyond `KEPT`.
    pub fn keep(&self, session: Date, vols: SessionVols, permit: Permit) {
        if vols.is_empty() || !permit.admits(session, self.vols().all().last().map(|(date, _)| *date)) {
            return;
        }
        let mut whole = self.read(session).unwrap_or_default();
        whole.update(vols);
        if let Err(error) = self.vols().write(session, |file| whole.write(file)) {
            tracing::warn!("{}: {error}", self.vols().file(session).display());
        }
        // a file of a future date is not ours, and must not displace those of past sessions
        let past: Vec<_> = self.vols().all().into_iter().filter(|&(date, _)| date <= permit.today).collect();
        for (_, path) in past.iter().take(past.len().saturating_sub(KEPT)) {
            let _ = fs::remove_file(path);
        }
    }

    /// The closes of sessions.
    #[must_use]
    pub fn closes(&self) -> Closes {
        ClosesFolder::new(&self.path).closes()
    }

    /// Adds closing rows to those of a session. Returns true if they were saved.
    pub fn keep_closes(&self, session: Date, rows: &[ClosingRow], permit: Permit) -> bool {
        let folder = ClosesFolder::new(&self.path);
        if rows.is_empty() || !permit.admits(session, folder.last()) {
            return false;
        }
        let added = folder.add(session, rows, permit.today);
        added.inspect_err(|error| tracing::warn!("{}: closes of {session}: {error}", self.path.display())).is_ok()
    }

    /// Saved volatilities of a session; `None` if there are no usable ones.
    fn read(&self, session: Date) -> Option<SessionVols> {
        let parse = |text: &[u8]| {
            let is_ours = text.starts_with(HEADER);
            let (vols, refused) = if is_ours { SessionVols::read(text) } else { (SessionVols::default(), 0) };
            let is_whole = is_ours && refused == 0;
            Readable { is_whole, value: Some(vols).filter(|vols| is_whole || !vols.is_empty()) }
        };
        let read = self.vols().read(session, parse, |vols, file| vols.write(file));
        read.inspect_err(|error| tracing::warn!("{}: {error}", self.vols().file(session).display())).ok()?
    }

    fn vols(&self) -> DatedFiles {
        DatedFiles::new(&self.path, VOLS, u64::MAX)
    }

    /// Replaces a saved market. Live names that are not among `chains` stay while they have a contract that has not
    /// settled at `now`. Returns the number of bytes; `None` if writing failed, which is logged.
    pub fn save_market(&self, market: &SavedMarket, chains: &[Arc<Chain>], now: Timestamp) -> Option<u64> {
        let path = self.market_file(market);
        let is_new = !path.exists();
        let others = match market {
            SavedMarket::Live => {
                let own: BTreeSet<Symbol> = chains.iter().map(|chain| chain.underlying).collect();
                // unreadable parts were logged at the start
                self.read_market(market, now, |name| !own.contains(&name)).unwrap_or_default().chains
            }
            SavedMarket::Recorded(_) => Vec::new(),
        };
        let all = chains.iter().map(AsRef::as_ref).chain(&others);
        if let Err(error) = private::replace(&path, |file| saved::write(&market.name(), all, file)) {
            tracing::warn!("{}: {error}", path.display());
            return None;
        }
        if is_new {
            self.drop_old_markets();
        }
        Some(fs::metadata(&path).map_or(0, |facts| facts.len()))
    }

    /// Removes the saved markets of the oldest recorded folders, and those of earlier versions.
    fn drop_old_markets(&self) {
        let changed =
            |path: &PathBuf| fs::metadata(path).and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let recorded = self.markets(|name| name.starts_with(RECORDED));
        let mut recorded: Vec<(SystemTime, PathBuf)> =
            recorded.into_iter().map(|path| (changed(&path), path)).collect();
        recorded.sort();
        recorded.truncate(recorded.len().saturating_sub(MARKETS_KEPT));
        for path in recorded.into_iter().map(|(_, path)| path).chain(self.former_markets()) {
            let _ = fs::remove_file(path);
        }
    }

    /// The saved markets of earlier versions, which had one for each value of `--feed`.
    fn former_markets(&self) -> Vec<PathBuf> {
        self.markets(|name| name != LIVE && !name.starts_with(RECORDED))
    }

    /// The saved markets whose file names are wanted.
    fn markets(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_market = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.starts_with("market-") && name.ends_with(".saved") && is_wanted(name)
        };
        entries.filter(is_market).collect()
    }

    fn read_market(
        &self,
        market: &SavedMarket,
        now: Timestamp,
        is_wanted: impl Fn(Symbol) -> bool,
    ) -> Result<Saved, SavedError> {
        let file = File::open(self.market_file(market))?;
        saved::read(&market.name(), market.expiry_clock(now), is_wanted, &mut BufReader::new(file))
    }

    /// Reads a saved market: the `wanted` names, or all, without contracts that have settled at `now`. Damaged parts
    /// are skipped and logged; a file of another version, or with a truncated head, is moved aside.
    #[must_use]
    pub fn saved_market(&self, market: &SavedMarket, wanted: Option<&BTreeSet<Symbol>>, now: Timestamp) -> Vec<Chain> {
        let former = self.former_markets().len();
        if former > 0 {
            let folder = self.path.display();
            tracing::info!("{folder}: {former} saved markets of an earlier version are ignored and will be removed");
        }
        let path = self.market_file(market);
        match self.read_market(market, now, |name| wanted.is_none_or(|wanted| wanted.contains(&name))) {
            Ok(Saved { chains, is_damaged }) => {
                if is_damaged {
                    tracing::warn!("{} is damaged: {} names could be restored", path.display(), chains.len());
                }
                chains
            }
            Err(SavedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(SavedError::Foreign) => {
                private::move_aside(&path, OTHER_VERSION);
                Vec::new()
            }
            Err(SavedError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                private::move_aside(&path, DAMAGED_OR_FOREIGN);
                Vec::new()
            }
            Err(error) => {
                tracing::info!("{}: {error}; nothing is restored from it", path.display());
                Vec::new()
            }
        }
    }

    fn market_file(&self, market: &SavedMarket) -> PathBuf {
        self.path.join(match market {
            SavedMarket::Live => LIVE.to_owned(),
            SavedMarket::Recorded(paths) => format!("{RECORDED}{}.saved", saved::tag(paths)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::contract::{Right, Symbol};
    use std::time::SystemTime;

    /// A folder of its own, removed at the end.
    struct Folder(StateFolder);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("greeksd-state-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(StateFolder::open(&path))
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0.path).unwrap();
            let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }

        fn put(&self, name: &str, text: impl AsRef<[u8]>) {
            fs::write(self.0.path.join(name), text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.path);
        }
    }

    const TODAY: Date = date(2024, 11, 20);
    const RUNNING: Permit = Permit { today: TODAY, is_real: true };
    const STILL: Permit = Permit { today: TODAY, is_real: false };

    fn vols(rows: &str) -> SessionVols {
        let (vols, refused) = SessionVols::read([HEADER, rows.as_bytes()].concat().as_slice());
        assert_eq!(refused, 0);
        vols
    }

    fn vol(vols: &SessionVols, root: &str) -> Option<f64> {
        vols.get(Symbol::parse(root).unwrap(), date(2024, 12, 20), 100_000, Right::Call)
    }

    const ACME: &str = "ACME,2024-12-20,100000,call,0.25\n";
    const GME: &str = "GME,2024-12-20,100000,call,0.75\n";

    #[test]
    fn a_smaller_market_of_the_same_session_takes_nothing_away() {
        let folder = Folder::new("merged");
        folder.0.keep(TODAY, vols(&format!("{ACME}{GME}")), RUNNING);
        folder.0.keep(TODAY, vols("ACME,2024-12-20,100000,call,0.5\n"), RUNNING);
        folder.0.keep(TODAY, SessionVols::default(), RUNNING);
        let kept = folder.0.before(date(2024, 11, 21));
        assert_eq!((vol(&kept, "ACME"), vol(&kept, "GME")), (Some(0.5), Some(0.75)));
        assert_eq!(folder.names(), ["vols-2024-11-20.csv"]);
        assert!(folder.0.before(TODAY).is_empty(), "a session is not before itself");
    }

    #[test]
    fn what_is_damaged_or_foreign_is_moved_aside_and_the_rest_of_it_used() {
        let folder = Folder::new("damaged");
        let header = String::from_utf8_lossy(HEADER).into_owned();
        folder.put("vols-2024-11-14.csv", format!("{header}{ACME}"));
        folder.put("vols-2024-11-15.csv", "");
        folder.put("vols-2024-11-18.csv", "name,price\nACME,1\n");
        folder.put("vols-2024-11-19.csv", b"\0\0\0\0");
        let kept = folder.0.before(TODAY);
        assert_eq!(vol(&kept, "ACME"), Some(0.25), "the latest that can be used");
        let aside: Vec<String> = ["15", "18", "19"].map(|day| format!("vols-2024-11-{day}.csv.bad")).into();
        assert_eq!(folder.names(), [&["vols-2024-11-14.csv".to_owned()][..], &aside].concat());

        for (i, damaged) in
            [format!("{ACME}GME,2024-12-20,100000,call,0.7"), format!("{ACME}what is this\n")].iter().enumerate()
        {
            folder.put("vols-2024-11-19.csv", format!("{header}{damaged}"));
            for _ in 0..2 {
                let kept = folder.0.before(TODAY);
                assert_eq!((vol(&kept, "ACME"), vol(&kept, "GME")), (Some(0.25), None), "{i}");
            }
            let whole = fs::read_to_string(folder.0.path.join("vols-2024-11-19.csv")).unwrap();
            assert_eq!(whole, format!("{header}{ACME}"));
        }
    }

    #[test]
    fn no_session_is_kept_that_has_not_been() {
        let folder = Folder::new("future");
        let header = String::from_utf8_lossy(HEADER).into_owned();
        for year in 2030..2036 {
            folder.put(&format!("vols-{year}-01-02.csv"), format!("{header}{ACME}"));
        }
        folder.0.keep(date(2036, 1, 2), vols(ACME), RUNNING);
        for day in [11, 12, 13, 14, 15, 18, 19, 20] {
            folder.0.keep(date(2024, 11, day), vols(GME), RUNNING);
        }
        let names = folder.names();
        assert_eq!(names.len(), 6 + KEPT, "{names:?}");
        assert_eq!(names[..KEPT], [14, 15, 18, 19, 20].map(|day| format!("vols-2024-11-{day}.csv")));
        assert_eq!(vol(&folder.0.before(date(2024, 11, 21)), "GME"), Some(0.75));
    }

    #[test]
    fn a_clock_that_stands_still_hides_no_session() {
        let folder = Folder::new("still");
        folder.0.keep(date(2024, 11, 18), vols(ACME), STILL);
        folder.0.keep(date(2024, 11, 19), vols(ACME), RUNNING);
        for day in [15, 18, 19] {
            folder.0.keep(date(2024, 11, day), vols("ACME,2024-12-20,100000,call,9\n"), STILL);
        }
        assert_eq!(folder.names(), ["vols-2024-11-18.csv", "vols-2024-11-19.csv"]);
        assert_eq!(vol(&folder.0.before(TODAY), "ACME"), Some(0.25));
        assert_eq!(vol(&folder.0.before(date(2024, 11, 19)), "ACME"), Some(0.25));
    }

    #[test]
    fn what_was_left_unfinished_long_ago_is_removed_and_nothing_else() {
        let folder = Folder::new("unfinished");
        let names = [
            "vols-2024-11-19.1.unfinished",
            "vols-2024-11-19.2.unfinished",
            "vols-2024-11-20.unfinished",
            "mine.unfinished",
        ];
        for (name, hours) in names.into_iter().zip([0, 2, 2, 2]) {
            folder.put(name, "x");
            let file = File::options().write(true).open(folder.0.path.join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_hours(hours)).unwrap();
        }
        let _ = StateFolder::open(&folder.0.path);
        assert_eq!(folder.names(), ["mine.unfinished", "vols-2024-11-19.1.unfinished"]);
    }

    /// The head of a saved market: what it begins with, the version of its layout, the fingerprint of its columns.
    #[test]
    fn a_market_of_another_version_is_moved_aside_and_the_next_one_saved() {
        let folder = Folder::new("versions");
        let now = Timestamp::now();
        assert!(folder.0.save_market(&SavedMarket::Live, &[], now).is_some());
        let ours = fs::read(folder.0.path.join(LIVE)).unwrap();
        assert!(folder.0.saved_market(&SavedMarket::Live, None, now).is_empty());
        assert_eq!(folder.names(), [LIVE], "this version's is read");

        let aside = format!("{LIVE}.bad");
        for (part, at) in [("version", 8), ("columns", 12)] {
            for newer in [true, false] {
                let mut theirs = ours.clone();
                theirs[at] = if newer { theirs[at].wrapping_add(1) } else { theirs[at].wrapping_sub(1) };
                folder.put(LIVE, &theirs);
                assert!(folder.0.saved_market(&SavedMarket::Live, None, now).is_empty());
                assert_eq!(folder.names(), [aside.as_str()], "{part}");
                assert_eq!(fs::read(folder.0.path.join(&aside)).unwrap(), theirs, "{part}: as it was");
                assert!(folder.0.save_market(&SavedMarket::Live, &[], now).is_some());
                assert_eq!(folder.names(), [LIVE, aside.as_str()], "{part}");
                assert_eq!(fs::read(folder.0.path.join(LIVE)).unwrap(), ours, "{part}");
            }
        }
        folder.put(LIVE, &ours[..9]);
        assert!(folder.0.saved_market(&SavedMarket::Live, None, now).is_empty());
        assert_eq!(folder.names(), [aside.as_str()], "a head that was cut");
    }

    #[test]
    fn saved_markets_of_earlier_versions_and_of_folders_long_gone_are_removed() {
        let folder = Folder::new("markets");
        folder.put("market-0123abcd.saved", "of a text of --feed");
        folder.put("market.saved.mine", "x");
        assert!(folder.0.saved_market(&SavedMarket::Live, None, Timestamp::now()).is_empty());
        assert_eq!(folder.names().len(), 2, "nothing is removed before something is saved");
        assert!(folder.0.save_market(&SavedMarket::Live, &[], Timestamp::now()).is_some());
        assert_eq!(folder.names(), [LIVE, "market.saved.mine"]);
        for i in 0..MARKETS_KEPT + 2 {
            let market = SavedMarket::Recorded(format!("/folder/{i}"));
            assert!(folder.0.save_market(&market, &[], Timestamp::now()).is_some());
        }
        let names = folder.names();
        let recorded = names.iter().filter(|name| name.starts_with(RECORDED)).count();
        assert!(recorded == MARKETS_KEPT && names.iter().any(|name| name == LIVE), "{names:?}");
    }
}
