//! A folder of chains with faults that occur in practice: a fault costs only its own rows, and they come back once it
//! is mended.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, HEADER, chain, folder, remove};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rows of [`chain`].
const ROWS: usize = 18;

/// A folder as [`folder`], with quotes a moment old, for a daemon whose clock runs.
fn market(name: &str) -> PathBuf {
    folder(name, &chain(100.0))
}

fn start(folder: &Path) -> Daemon {
    Daemon::start(&format!("dir:{}", folder.display()), &["--refresh", "0.1", "--now", "2026-11-20T16:30:00-05:00"])
}

fn write(folder: &Path, name: &str, rows: &str) {
    fs::write(folder.join("chains").join(name), format!("{HEADER}{rows}")).unwrap();
}

fn served(daemon: &Daemon, query: &str) -> usize {
    daemon.rows(&format!("/l1/greeks?{query}")).len()
}

fn wait_for(mut holds: impl FnMut() -> bool, what: &str) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn dropped(daemon: &Daemon, reason: &str) -> u64 {
    daemon.health().unwrap()["quotes"]["dropped"][reason].as_u64().unwrap_or(0)
}

/// A time some days ahead of both the fixed clock and the system's clock.
fn far(days: i64) -> String {
    let system = jiff::Timestamp::now().max("2026-11-20T21:30:00Z".parse().unwrap());
    (system + jiff::SignedDuration::from_hours(24 * days)).to_string()
}

#[test]
fn a_row_from_the_future_costs_itself() {
    for ahead in [2, 51, 3650] {
        let folder = market("future");
        let row = format!("{},ACME,777,ACME,2099-12-18,call,100,1,2,,\n", far(ahead));
        write(&folder, "acme.csv", &(chain(100.0) + &row));
        let daemon = start(&folder);
        let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=core,chain");
        assert_eq!(rows.len(), ROWS, "{ahead} days ahead");
        assert!(rows.iter().all(|row| (Daemon::number(row, "und_price") - 100.0).abs() < 1e-9));
        assert!(rows.iter().all(|row| row["svc_vol"].is_number()), "no quote is stale");
        assert_eq!(dropped(&daemon, "from_the_future"), 1);
        let health = daemon.health().unwrap();
        assert!(health["status"] != "starting", "{health}");
        let (code, said) = daemon.stop();
        assert!(code == Some(0) && said.contains("refused: 1 from_the_future"), "{said}");
        remove(&folder);
    }
}

#[test]
fn a_row_that_is_hours_ahead_makes_no_other_stale() {
    let folder = market("ahead");
    let vols = |daemon: &mut Daemon| {
        daemon.wait("full accuracy", |health| health["preliminary"] == 0 && health["contracts_priced"] == ROWS);
        let rows = daemon.rows("/l1/greeks?underlying=ACME");
        rows.iter().map(|row| Daemon::number(row, "svc_vol")).collect::<Vec<_>>()
    };
    write(&folder, "acme.csv", &chain(100.0));
    let mut daemon = start(&folder);
    let clean = vols(&mut daemon);
    assert_eq!(daemon.stop().0, Some(0));
    let spoiled = chain(100.0).replacen("T16:00:00-05:00", "T21:00:00-05:00", 1);
    write(&folder, "acme.csv", &spoiled);
    let mut daemon = start(&folder);
    assert_eq!(vols(&mut daemon), clean);
    assert_eq!(dropped(&daemon, "stale"), 0);
    assert_eq!(daemon.health().unwrap()["mostly_stale"]["count"], 0);
    // a chain of mostly late quotes is named
    let mut lines: Vec<String> = chain(100.0).lines().map(|line| format!("{line}\n")).collect();
    lines.iter_mut().take(4).for_each(|line| *line = line.replace("T16:00:00", "T16:20:00"));
    write(&folder, "acme.csv", &lines.concat());
    wait_for(|| daemon.health().unwrap()["mostly_stale"]["underlyings"][0] == "ACME", "the name is shown");
    assert_eq!(daemon.stop().0, Some(0));
    remove(&folder);
}

#[test]
fn a_stray_quotation_mark_costs_its_row() {
    let folder = market("stray");
    let spoiled: Vec<String> = chain(100.0)
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 3 { line.replace(",ACME,1", ",\"ACME,1") } else { line.to_owned() } + "\n")
        .collect();
    write(&folder, "acme.csv", &spoiled.concat());
    let daemon = start(&folder);
    assert_eq!(served(&daemon, "underlying=ACME"), ROWS - 1);
    assert_eq!(dropped(&daemon, "open_quote"), 1);
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.contains("acme.csv:5: underlying: open_quote"), "{said}");
    remove(&folder);
}

#[test]
fn a_spelling_of_another_file_keeps_its_contracts() {
    let folder = market("spelling");
    let index = |root: &str| chain(100.0).replace(",ACME,100,ACME,", &format!(",{root},100,{root},"));
    write(&folder, "monthly.csv", &index("SPX"));
    write(&folder, "weekly.csv", &index("SPXW"));
    let daemon = start(&folder);
    assert_eq!((served(&daemon, "root=SPX"), served(&daemon, "root=SPXW")), (ROWS, ROWS));
    let fewer: String = index("SPXW").lines().skip(2).map(|line| format!("{line}\n")).collect();
    write(&folder, "weekly.csv", &fewer);
    wait_for(|| served(&daemon, "root=SPXW") == ROWS - 2, "the changed file is read");
    assert_eq!(served(&daemon, "root=SPX"), ROWS);
    assert_eq!(daemon.stop().0, Some(0));
    remove(&folder);
}

/// The most memory that a process has had, in kilobytes.
#[cfg(target_os = "linux")]
fn most_memory(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_grows_out_of_all_proportion_costs_no_memory() {
    let folder = market("bomb");
    let daemon = start(&folder);
    let before = most_memory(&daemon);
    for (name, text) in [("zeros", vec![0; 1 << 20]), ("rows", b"1,2,3,4,5,6,7,8,9\n".repeat(1 << 16))] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        (0..200).for_each(|_| encoder.write_all(&text).unwrap());
        let packed = encoder.finish().unwrap();
        assert!(packed.len() * 200 < 200 * text.len(), "{} bytes", packed.len());
        fs::write(folder.join(format!("chains/{name}.csv.gz")), packed).unwrap();
    }
    wait_for(|| daemon.health().unwrap()["files_unusable"] == 2, "both are refused");
    let grown = most_memory(&daemon) - before;
    assert!(grown < 200_000, "{grown} kB more for 200 MB each");
    assert_eq!(served(&daemon, "underlying=ACME"), ROWS);
    let (code, said) = daemon.stop();
    assert!(code == Some(0) && said.matches("too large").count() == 2, "{said}");
    remove(&folder);
}

#[test]
fn a_folder_that_is_removed_is_said_once_and_read_when_it_is_back() {
    let folder = market("removed");
    let daemon = start(&folder);
    let away = folder.with_extension("away");
    fs::rename(folder.join("chains"), &away).unwrap();
    wait_for(|| daemon.health().unwrap()["files_unusable"] == 1, "the folder is missed");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(served(&daemon, "underlying=ACME"), ROWS, "what was last read is served");
    fs::rename(&away, folder.join("chains")).unwrap();
    write(&folder, "acme.csv", &chain(101.0));
    let price = || Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME")[0], "und_price");
    wait_for(|| (price() - 101.0).abs() < 1e-9, "the folder is read again");
    assert_eq!(daemon.health().unwrap()["files_unusable"], 0);
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!((1..=2).contains(&said.matches("the last version read stays in use").count()), "{said}");
    remove(&folder);
}

/// Lets a daemon have so many files and sockets open from now on.
#[cfg(target_os = "linux")]
fn allow_descriptors(daemon: &Daemon, most: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(daemon.child.id()).unwrap());
    let limit = Rlimit { current: Some(most), maximum: Some(1024) };
    prlimit(pid, Resource::Nofile, limit).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn files_are_read_when_the_system_has_descriptors_again() {
    for file in ["", "/chains/acme.csv"] {
        let folder = market("descriptors");
        let feed = format!("dir:{}{file}", folder.display());
        let daemon = Daemon::start(&feed, &["--refresh", "0.1", "--now", "2026-11-20T16:30:00-05:00"]);
        allow_descriptors(&daemon, 1);
        write(&folder, "acme.csv", &chain(102.0));
        // longer than a changed file must stay unchanged, so that every attempt in this time fails to open it
        std::thread::sleep(Duration::from_secs(2));
        allow_descriptors(&daemon, 512);
        let price = || Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME")[0], "und_price");
        wait_for(|| (price() - 102.0).abs() < 1e-9, "the file is read again");
        let health = daemon.health().unwrap();
        assert_eq!((&health["files_unusable"], &health["contracts"]), (&0.into(), &ROWS.into()));
        let (code, said) = daemon.stop();
        let complaints = said.lines().filter(|line| line.contains("chains") && line.contains("WARN")).count();
        assert!(code == Some(0) && complaints == 1 && said.lines().count() < 20, "{said}");
        remove(&folder);
    }
}
