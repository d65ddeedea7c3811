//! A key is nowhere but in the requests that need it: not in what the program prints at the most talkative level, nor
//! on its pages, nor in anything that it writes, whatever a server makes of it.

use super::server::{Act, Server, say};
use super::vendors::{KEY, TestedVendor, VendorState, environment};
use super::{failures, wait_for_spot};
use crate::support::daemon::{Daemon, command, free_address};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::shift::ShiftDate;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All files under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The bytes of a file, and the decompressed bytes of a compressed one.
fn text_of(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = std::fs::read(path).unwrap();
    let mut plain = Vec::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    }
    bytes.append(&mut plain);
    bytes
}

fn has_key(bytes: &[u8]) -> bool {
    // also in the lower case of a header
    let spelt = [KEY.to_owned(), KEY.to_lowercase()];
    spelt.iter().any(|key| bytes.windows(key.len()).any(|part| part == key.as_bytes()))
}

/// A server that repeats the key in all of its errors, between right answers.
fn talkative(vendor: TestedVendor, market: VendorState) -> Server {
    let turn = AtomicUsize::new(0);
    Server::start(move |target| {
        let tell = |headers: &str| format!("{headers}X-Key: {KEY}\r\nSet-Cookie: key={KEY}\r\nETag: \"{KEY}\"\r\n");
        let right = vendor.answer(target, market);
        match turn.fetch_add(1, Ordering::Relaxed) {
            8 => Act::Say(500, tell(""), format!("no room for {KEY}")),
            9 => Act::Say(200, tell(""), format!("{{\"message\":\"no such thing as {KEY}\",\"status\":\"{KEY}\"}}")),
            10 => Act::Say(200, tell(""), format!("{KEY},{KEY}\n{KEY},{KEY}\n")),
            11 => Act::Say(302, tell(&format!("Location: http://127.0.0.1:1/{KEY}\r\n")), KEY.to_owned()),
            12 => Act::Say(302, tell(&format!("Location: {target}&key={KEY}\r\n")), KEY.to_owned()),
            13 => Act::Cut(right.replace("ACME", KEY)),
            14 => say(right.replace("ACME261218", KEY).replace("ACME", KEY)),
            15 => {
                say(right.replace("\"status\":\"OK\"}", &format!("\"next_url\":\"https://x?apiKey={KEY}&a={KEY}\"}}")))
            }
            16 => Act::Say(401, tell(&format!("WWW-Authenticate: Bearer {KEY}\r\n")), format!("{KEY} is wrong")),
            _ => Act::Say(200, tell(""), right),
        }
    })
}

/// Runs a daemon against that server, and checks its pages, its output and its files.
fn run(vendor: TestedVendor, form: &str, by_file: bool) {
    let name = format!("greeksd-key-{}-{}", vendor.word(), std::process::id());
    let folder = std::env::temp_dir().join(name);
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::create_dir_all(folder.join("record")).unwrap();
    let given = environment();
    let expiry = Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::UTC).date().plus_days(40);
    let market = VendorState { expiry, ..VendorState::whole(100.0, Timestamp::now() - SignedDuration::from_mins(30)) };
    let (server, address) = (talkative(vendor, market), free_address());
    let feed = format!("{}:ACME,every=0.2,rate=6000@http://{}", vendor.word(), server.address);
    let (state, record, keys) = (path("state"), path("record"), path("keys"));
    let mut options =
        vec!["--refresh", "0.1", "--threads", "1", "--log-level", "trace", "--log", form, "--show-quotes"];
    options.extend(["--state-dir", &state, "--record", &record]);
    if by_file {
        std::fs::write(&keys, given.iter().map(|(name, key)| format!("{name}={key}\n")).collect::<String>()).unwrap();
        options.extend(["--key-file", &keys]);
    }
    let mut program = command(&feed, address, &options);
    // into files: a pipe that nobody reads costs lines
    let [printed, said] = ["stdout", "stderr"].map(|name| folder.join(name));
    program.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
    if !by_file {
        program.envs(given);
    }
    let mut daemon = Daemon::launch(program, address);
    wait_for_spot(&daemon, 100.0);
    daemon.wait("every answer", |_| server.asked().len() >= 17);
    // a broker's token is renewed where it is not taken
    let (last, says) = match vendor {
        TestedVendor::Schwab => ("malformed", "malformed"),
        _ => ("refused", "rejects the key"),
    };
    daemon.wait("the last of them", |health| failures(health, last) > 0);
    let pages =
        ["/", "/health", "/metrics", "/l1/symbols", "/l1/greeks?underlying=ACME&greeks=all", "/nothing", "/v1/x"];
    for page in pages {
        assert!(!has_key(daemon.get(page).1.as_bytes()), "{vendor:?}: {page}");
    }
    let sent = server.asked();
    // the server of tokens has it in another form
    let mut sent = sent.iter().filter(|(_, target, _)| target != "/v1/oauth/token");
    assert!(sent.all(|(_, _, head)| head.contains(KEY)), "{vendor:?}: it does go to the vendor");
    Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(said.contains("TRACE") && said.contains(says), "there is something to look through: {said}");
    let written: Vec<PathBuf> = files(&folder).into_iter().filter(|file| !file.ends_with("keys")).collect();
    assert!(written.iter().any(|file| file.starts_with(&record)), "{vendor:?}: something was recorded: {written:?}");
    for file in &written {
        assert!(!has_key(&text_of(file)) && !has_key(file.as_os_str().as_encoded_bytes()), "{vendor:?}: {file:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_key_is_in_requests_and_nowhere_else() {
    let all = [
        (TestedVendor::Tradier, "text", false),
        (TestedVendor::Massive, "json", true),
        (TestedVendor::Alpaca, "text", true),
        (TestedVendor::Schwab, "json", false),
    ];
    std::thread::scope(|scope| {
        let all = all.map(|(vendor, form, by_file)| scope.spawn(move || run(vendor, form, by_file)));
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn a_key_that_cannot_be_one_is_refused_without_being_shown() {
    let folder = std::env::temp_dir().join(format!("greeksd-bad-key-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("keys");
    let spoiled = format!("{KEY} {KEY}");
    for (text, in_file) in
        [(spoiled.clone(), false), (format!("GREEKSD_TRADIER_TOKEN={spoiled}\n"), true), (KEY.to_owned(), true)]
    {
        let mut program = command("tradier:ACME", free_address(), &["--log-level", "trace"]);
        if in_file {
            std::fs::write(&file, &text).unwrap();
            program.args(["--key-file", &file.display().to_string()]);
        } else {
            program.env("GREEKSD_TRADIER_TOKEN", &text);
        }
        let ended = program.output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && said.lines().count() >= 1, "{text}");
        assert!(!has_key(said.as_bytes()) && !has_key(&ended.stdout), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
