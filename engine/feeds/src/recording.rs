//! A recording: our own lines ([`lines`](super::lines)), plain or as a series of gzip members that was appended to. The
//! last state of everything at its end counts. Bytes to records. Never: a file handle, a clock.
//!
//! A program that is killed, or a machine that loses its power, leaves a member that is cut off, and the next start
//! appends others behind it. A damaged member costs only itself: reading goes on at the next one.

use super::chains::Chains;
use super::conflate::Conflated;
use super::lines::LineParser;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use kernel::contract::RootTable;
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::records::Batch;
use kernel::report::Report;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// First bytes of a member of [`begin_member`]: neither name nor time, compressed fast.
const BEGIN: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];
/// First bytes of any member.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes of lines that are parsed at once; their records are conflated before the next.
const PIECE: usize = 1 << 20;
/// Bytes of a file that are read at once.
const PART: usize = 32 << 20;

/// A member of a recording, to write lines to and to finish.
#[must_use]
pub fn begin_member() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::fast())
}

/// Number of bytes at the end of a recording without a last member that is cut off. `tail` may begin anywhere in a
/// member.
#[must_use]
pub fn whole_len(tail: &[u8]) -> usize {
    // members begin with the same ten bytes, so the last one is found from the end without reading the file
    let Some(last) = tail.windows(BEGIN.len()).rposition(|window| window == BEGIN) else { return tail.len() };
    let most = limits::grown((tail.len() - last) as u64) as usize;
    match read_member(&tail[last..], most) {
        Ok(_) => tail.len(),
        Err(_) => last,
    }
}

/// True if a file of this name is a recording: `*.ndjson` or `*.ndjson.gz`.
#[must_use]
pub fn is_recording(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".ndjson") || name.ends_with(".ndjson.gz")
}

/// Reads a recording of any length, a part of it at a time. A member that cannot be read is a refused record (its
/// number, `member`), as is a line. No more than [`limits::INSTRUMENTS`] contracts are taken, and no member of more
/// than [`limits::FILE_BYTES`].
///
/// # Errors
/// The bytes cannot be read.
pub fn read_recording(file: &Path, from: impl Read) -> io::Result<(Chains, Report)> {
    read_in_parts(file, from, PART)
}

/// Reads a recording from bytes in memory.
#[must_use]
pub fn parse_recording(file: &Path, raw: &[u8]) -> (Chains, Report) {
    // memory can be read
    read_recording(file, raw).unwrap_or_default()
}

fn read_in_parts(file: &Path, mut from: impl Read, part: usize) -> io::Result<(Chains, Report)> {
    let mut reader = Reader {
        file: Arc::new(file.to_path_buf()),
        parser: LineParser::new(file, RootTable::embedded()),
        state: Conflated::default(),
        report: Report::default(),
        begun: Vec::new(),
        members: 0,
        is_between: false,
    };
    let (mut raw, mut is_packed) = (Vec::new(), None);
    let fits = loop {
        // what is longer than a part is read in ever longer parts
        let more = part.max(raw.len()).max(GZIP.len());
        let read = from.by_ref().take(more as u64).read_to_end(&mut raw)?;
        let is_last = read < more;
        let used = if *is_packed.get_or_insert(raw.starts_with(&GZIP)) {
            reader.members(&raw, is_last)
        } else {
            // plain text: everything was used, and a line that is not whole is kept by the reader
            reader.text(&raw).then_some(raw.len())
        };
        let Some(used) = used else { break false };
        raw.drain(..used);
        if is_last {
            break reader.end();
        }
        // one member that never ends
        if !limits::FILE_BYTES.holds(raw.len() as f64) {
            break false;
        }
    };
    if !fits {
        let errors = vec![FeedError::TooLarge { file: file.to_path_buf() }];
        return Ok((Chains::default(), Report { errors, ..Report::default() }));
    }
    let mut batch = reader.state.take();
    let dividends = batch.dividends.take().unwrap_or_default();
    let rates = batch.rates.take().unwrap_or_default();
    let Batch { quotes, spots, dividend_cover, .. } = batch;
    Ok((Chains { quotes, spots, dividends, dividend_cover, rates }, reader.report))
}

struct Reader {
    file: Arc<PathBuf>,
    parser: LineParser,
    state: Conflated,
    report: Report,
    /// The beginning of a line whose end is still to come.
    begun: Vec<u8>,
    /// Members so far.
    members: u64,
    /// True after a damaged member, until the next member begins.
    is_between: bool,
}

impl Reader {
    /// Reads members; where more bytes follow, only those that are whole. Returns how many bytes are done with; `None`:
    /// they have more contracts than are taken.
    fn members(&mut self, raw: &[u8], is_last: bool) -> Option<usize> {
        let mut rest = raw;
        while !rest.is_empty() {
            if self.is_between {
                let next = rest.windows(BEGIN.len()).position(|window| window == BEGIN);
                // one may begin in the last bytes
                let kept = if is_last { 0 } else { BEGIN.len() - 1 };
                rest = &rest[next.unwrap_or(rest.len().saturating_sub(kept))..];
                if next.is_none() {
                    break;
                }
                self.is_between = false;
            }
            match read_member(rest, limits::grown(rest.len() as u64) as usize) {
                Ok((text, after)) => {
                    self.members += 1;
                    rest = after;
                    if !self.text(&text) {
                        return None;
                    }
                }
                Err(MemberFault::Cut) if !is_last => break,
                Err(_) => {
                    // what came out of it before the damage was found may be anything
                    self.begun.clear();
                    self.members += 1;
                    self.report.records += 1;
                    let (file, line) = (Arc::clone(&self.file), self.members);
                    self.report.refuse(Refused {
                        file,
                        line,
                        field: "member",
                        reason: Reason::Malformed,
                        value: String::new(),
                    });
                    (self.is_between, rest) = (true, &rest[1..]);
                }
            }
        }
        Some(raw.len() - rest.len())
    }

    /// Takes text in, up to its last line end; whether it has no more contracts than are taken.
    fn text(&mut self, text: &[u8]) -> bool {
        let mut rest = text;
        while let Some(end) = end_of_lines(rest, PIECE) {
            let (lines, after) = rest.split_at(end);
            rest = after;
            let fits = if self.begun.is_empty() {
                self.lines(lines)
            } else {
                // a line that began in the part before
                let mut joined = core::mem::take(&mut self.begun);
                joined.extend_from_slice(lines);
                self.lines(&joined)
            };
            if !fits {
                return false;
            }
        }
        self.begun.extend_from_slice(rest);
        limits::FILE_BYTES.holds(self.begun.len() as f64)
    }

    /// The last line may lack its end.
    fn end(&mut self) -> bool {
        let last = core::mem::take(&mut self.begun);
        last.is_empty() || self.lines(&last)
    }

    fn lines(&mut self, lines: &[u8]) -> bool {
        let (batch, report) = self.parser.parse(lines);
        self.state.add(batch);
        self.report.absorb(report);
        // conflated while it is read: a day of updates takes the memory of one chain
        limits::INSTRUMENTS.holds(self.state.waiting() as f64)
    }
}

/// End of the last line that ends within `most` bytes, or of the first line if it is longer.
fn end_of_lines(text: &[u8], most: usize) -> Option<usize> {
    let near = &text[..text.len().min(most)];
    // pieces bound what the parser holds at once, and end between lines
    let within = near.iter().rposition(|&b| b == b'\n');
    let end = within.or_else(|| text[near.len()..].iter().position(|&b| b == b'\n').map(|at| near.len() + at))?;
    Some(end + 1)
}

/// Why a member cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberFault {
    /// The member does not end within the bytes.
    Cut,
    /// The checksum is wrong, or the member grows beyond bounds.
    Damaged,
}

/// Reads the first member, verifies its checksum, and returns the bytes after it.
fn read_member(raw: &[u8], most: usize) -> Result<(Vec<u8>, &[u8]), MemberFault> {
    let mut decoder = GzDecoder::new(raw);
    let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match decoder.read(&mut piece) {
            Ok(0) => return Ok((text, decoder.into_inner())),
            Ok(n) if text.len() + n <= most => text.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Err(MemberFault::Cut),
            Ok(_) | Err(_) => return Err(MemberFault::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn line(strike: usize) -> String {
        format!("{{\"osym\":\"AA261218C{:08}\",\"bid\":1,\"ask\":2,\"time\":1795207320}}\n", 1000 * strike)
    }

    fn member(text: &str) -> Vec<u8> {
        let mut member = begin_member();
        member.write_all(text.as_bytes()).unwrap();
        member.finish().unwrap()
    }

    fn strikes(raw: &[u8]) -> (Vec<u32>, u64) {
        let (chains, report) = parse_recording(Path::new("x.ndjson.gz"), raw);
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        (chains.quotes.iter().map(|q| q.contract.strike_milli / 1000).collect(), report.refused_total())
    }

    #[test]
    fn members_begin_as_they_are_looked_for() {
        assert_eq!(member("x")[..BEGIN.len()], BEGIN);
    }

    #[test]
    fn a_member_that_is_cut_off_or_damaged_costs_itself() {
        let [first, second, third] = [1, 2, 3].map(|k| member(&line(k)));
        let whole = [&first[..], &second, &third].concat();
        assert_eq!(strikes(&whole), (vec![1, 2, 3], 0));
        for cut in 1..second.len() {
            let raw = [&first[..], &second[..cut], &third].concat();
            assert_eq!(strikes(&raw), (vec![1, 3], 1), "{cut}");
            assert_eq!(strikes(&raw[..first.len() + cut]), (vec![1], 1), "{cut}, and no start after it");
        }
        let mut flipped = whole.clone();
        flipped[first.len() + second.len() - 6] ^= 1;
        assert_eq!(strikes(&flipped), (vec![1, 3], 1), "its checksum tells");
        let report = parse_recording(Path::new("x.ndjson.gz"), &flipped).1;
        assert_eq!((report.places[0].line, report.places[0].field), (2, "member"));
    }

    #[test]
    fn parts_of_any_length_give_what_the_whole_gives() {
        let members: Vec<Vec<u8>> = (1..30).map(|k| member(&(k..k + 40).map(line).collect::<String>())).collect();
        let whole = members.concat();
        let mut damaged = whole.clone();
        let middle = members[..9].concat().len() + 40;
        damaged[middle] ^= 0x55;
        let cut = &whole[..whole.len() - 7];
        let plain: String = (1..300).map(line).collect();
        for raw in [&whole[..], &damaged, cut, plain.as_bytes()] {
            let read = |part: usize| {
                let (chains, report) = read_in_parts(Path::new("x"), raw, part).unwrap();
                let strikes: Vec<u32> = chains.quotes.iter().map(|q| q.contract.strike_milli).collect();
                let places: Vec<u64> = report.places.iter().map(|place| place.line).collect();
                (strikes, report.records, places)
            };
            let at_once = read(usize::MAX / 2);
            for part in [1, 7, 64, 1000, raw.len() - 1, raw.len(), raw.len() + 1] {
                assert_eq!(read(part), at_once, "{part}");
            }
        }
    }

    #[test]
    fn a_cut_end_is_found_from_anywhere_before_it() {
        let (first, second) = (member(&line(1)), member(&line(2)));
        for cut in BEGIN.len()..second.len() {
            let raw = [&first[..], &second[..cut]].concat();
            assert_eq!(whole_len(&raw), first.len(), "{cut}");
            assert_eq!(whole_len(&raw[7..]), first.len() - 7, "{cut}");
        }
        let whole = [&first[..], &second].concat();
        assert_eq!((whole_len(&whole), whole_len(b"plain"), whole_len(b"")), (whole.len(), 5, 0));
    }

    #[test]
    fn the_last_state_counts_and_what_was_forgotten_is_not_there() {
        let text =
            line(1) + &line(2) + "{\"forget\":\"AA\"}\n" + &line(3).replace("\"bid\":1", "\"bid\":1.5") + &line(3);
        let rest = "{\"symbol\":\"AA\",\"price\":9,\"time\":1795207320}\n\
            {\"symbol\":\"AA\",\"ex_date\":\"2026-12-01\",\"amount\":1}\n{\"symbol\":\"AA\",\"ex_date\":\"2026-12-02\",\"amount\":2}\n\
            {\"symbol\":\"AA\",\"ex_date\":\"2026-12-01\",\"amount\":0}\n{\"date\":\"2026-11-20\",\"tenor_days\":30,\"rate\":0.04}\n\
            {\"date\":\"2026-11-20\",\"tenor_days\":60,\"rate\":0.04}\n{\"date\":\"2026-11-20\",\"tenor_days\":30,\"rate\":null}";
        for raw in [format!("{text}{rest}").into_bytes(), [member(&text), member(rest)].concat()] {
            let (chains, report) = parse_recording(Path::new("x.ndjson"), &raw);
            assert_eq!((report.places.as_slice(), report.records), (&[][..], 12));
            assert_eq!((chains.quotes.len(), chains.spots.len()), (1, 1));
            assert!((chains.quotes[0].bid - 1.5).abs() < 1e-12, "at one time the higher bid");
            assert_eq!((chains.dividends.len(), chains.rates.len()), (1, 1));
        }
    }

    proptest! {
        #[test]
        fn lines_are_whole_wherever_members_end(cuts in prop::collection::vec(0usize..400, 0..5)) {
            let text: String = (1..6).map(line).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let raw: Vec<u8> = cuts.windows(2).flat_map(|cut| member(&text[cut[0]..cut[1]])).collect();
            prop_assert_eq!(strikes(&raw), (vec![1, 2, 3, 4, 5], 0));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
            let raw = if header { [&BEGIN[..], &bytes].concat() } else { bytes };
            let _ = parse_recording(Path::new("x"), &raw);
            prop_assert!(whole_len(&raw) <= raw.len());
        }
    }
}
