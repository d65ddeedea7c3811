//! The program from outside: precedence of values, and messages for mistakes.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("greeksd-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("GREEKSD_")) {
        command.env_remove(name);
    }
    let home = [("HOME", folder), ("XDG_CONFIG_HOME", folder), ("APPDATA", folder), ("XDG_STATE_HOME", folder)];
    command.args(arguments).envs(home).envs(variables.iter().copied()).current_dir(folder).output().unwrap()
}

/// Lines of `--print-config`: (line without spaces around it, origin).
fn printed(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Vec<(String, String)> {
    let output = program(folder, &[arguments, &["--print-config"]].concat(), variables);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.parse::<toml::Table>().is_ok(), "not a configuration file: {text}");
    let line = |line: &str| line.rsplit_once(" # ").map(|(a, b)| (a.trim().to_owned(), b.to_owned()));
    text.lines().filter_map(line).collect()
}

fn refused(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = program(folder, arguments, variables);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_command_line_wins_then_the_environment_then_the_file() {
    let folder = Folder::new("precedence");
    folder
        .write("greeksd.toml", "refresh = 0.5\nthreads = 2\nfeed = 'dir:here'\nlisten = ['127.0.0.1:7', '[::1]:7']\n");
    let variables =
        [("GREEKSD_REFRESH", "2"), ("GREEKSD_THREADS", "3"), ("GREEKSD_LOG", "json"), ("GREEKSD_LOG_LEVEL", "warn")];
    for command in [&["--threads", "4"][..], &["serve", "--threads", "4"][..]] {
        let printed = printed(&folder.0, command, &variables);
        for (line, origin) in [
            ("threads = 4", "command line"),
            ("refresh = 2.0", "GREEKSD_REFRESH"),
            ("log = \"json\"", "GREEKSD_LOG"),
            ("feed = \"dir:here\"", "greeksd.toml"),
            ("listen = [\"127.0.0.1:7\", \"[::1]:7\"]", "greeksd.toml"),
            ("log-level = \"warn\"", "GREEKSD_LOG_LEVEL"),
            ("allow-remote = false", "default"),
            ("# now is not set", "default"),
        ] {
            assert!(printed.contains(&(line.to_owned(), origin.to_owned())), "no {line} # {origin} in {printed:#?}");
        }
    }
}

#[test]
fn lists_may_be_repeated_or_separated_by_commas() {
    let folder = Folder::new("lists");
    let arguments =
        ["--listen", "127.0.0.1:1,127.0.0.2:2", "--listen", "[::1]:3", "--now", "2026-11-20T15:42:00-05:00"];
    let printed = printed(&folder.0, &arguments, &[]);
    assert_eq!(printed[0].0, "listen = [\"127.0.0.1:1\", \"127.0.0.2:2\", \"[::1]:3\"]");
    assert_eq!(printed[5].0, "now = \"2026-11-20T20:42:00Z\"");
}

#[test]
fn a_clock_is_started_in_eastern_time_or_at_an_offset() {
    let folder = Folder::new("clock");
    let clock = |arguments: &[&str], variables: &[(&str, &str)]| {
        let printed = printed(&folder.0, arguments, variables);
        (printed[6].0.clone(), printed[7].0.clone())
    };
    let want = |clock: &str, speed: &str| (clock.to_owned(), speed.to_owned());
    let winter = want("clock = \"2026-11-20T14:25:00Z\"", "speed = 60.0");
    assert_eq!(clock(&["--clock", "2026-11-20T09:25", "--speed", "60"], &[]), winter);
    assert_eq!(clock(&[], &[("GREEKSD_CLOCK", "2026-11-20T15:25:00+01:00"), ("GREEKSD_SPEED", "60")]), winter);
    let summer = want("clock = \"2026-07-20T13:25:30Z\"", "# speed is not set");
    assert_eq!(clock(&["--clock", "2026-07-20 09:25:30"], &[]), summer);
    folder.write("greeksd.toml", "clock = 2026-11-20T09:25:00\nspeed = 60\n");
    assert_eq!(clock(&[], &[]), winter);
}

#[test]
fn feeds_have_commas_in_them_and_stand_apart_otherwise() {
    let folder = Folder::new("feeds");
    let both = "feed = [\"theta:SPY,SPX\", \"dir:a\"]";
    let feeds = |arguments: &[&str], variables: &[(&str, &str)]| printed(&folder.0, arguments, variables)[2].0.clone();
    assert_eq!(feeds(&["--feed", "theta:SPY,SPX", "--feed", "dir:a"], &[]), both);
    assert_eq!(feeds(&[], &[("GREEKSD_FEED", "theta:SPY,SPX;dir:a")]), both);
    folder.write("greeksd.toml", &format!("{both}\nkey-file = 'keys'\n"));
    assert_eq!(feeds(&[], &[]), both);
    assert_eq!(printed(&folder.0, &[], &[])[3].0, "# key-file is not set", "a file that lies here names no keys");
    folder.write("greeksd.toml", "feed = 'tradier:SPY@https://elsewhere.example'\n");
    let error = refused(&folder.0, &[], &[]);
    assert!(error.contains("greeksd.toml in the current folder may not set a feed with an address"), "{error}");
    assert_eq!(feeds(&["--feed", "sim"], &[]), "feed = \"sim\"", "nor where they are sent");
}

#[test]
fn a_file_is_found_in_the_configuration_folder_or_where_it_is_named() {
    let folder = Folder::new("files");
    let elsewhere = folder.write("elsewhere/named.toml", "refresh = 3\n");
    let place = if cfg!(target_os = "macos") { "Library/Application Support/greeksd" } else { "greeksd" };
    folder.write(&format!("{place}/greeksd.toml"), "refresh = 4\n");
    let refresh = |arguments: &[&str]| printed(&folder.0, arguments, &[])[8].0.clone();
    assert_eq!(refresh(&[]), "refresh = 4.0");
    assert_eq!(refresh(&["--config", elsewhere.to_str().unwrap()]), "refresh = 3.0");
    let error = refused(&folder.0, &["--config", "nowhere.toml"], &[]);
    assert!(error.contains("cannot read the configuration nowhere.toml"), "{error}");
}

#[test]
fn state_is_kept_by_default_except_for_the_embedded_market() {
    let folder = Folder::new("state");
    let state = |feed: &str| printed(&folder.0, &["--feed", feed], &[])[10].0.clone();
    assert_eq!(state("sim:seed=7"), "# state-dir is not set");
    assert!(state("dir:/quotes").starts_with("state-dir = "), "{}", state("dir:/quotes"));
}

#[test]
fn a_slip_ends_the_program_with_a_hint() {
    let folder = Folder::new("slips");
    let rows: [(&[&str], &str); 16] = [
        (&["--refersh", "1"], "--refresh"),
        (&["--refresh", "9"], "expected seconds from 0.1 to 5"),
        (&["--refresh", "nan"], "expected seconds from 0.1 to 5"),
        (&["--threads", "0"], "expected a number of threads from 1"),
        (&["--now", "2026-11-20 15:42"], "expected RFC 3339 with an offset"),
        (&["--clock", "2026-11-20"], "expected an Eastern date and time"),
        (&["--clock", "15:42"], "expected an Eastern date and time"),
        (&["--clock", "2026-11-20T09:25", "--speed", "0"], "expected a number above 0 and up to 10000"),
        (&["--clock", "2026-11-20T09:25", "--speed", "10001"], "expected a number above 0 and up to 10000"),
        (&["--clock", "2026-11-20T09:25", "--speed", "NaN"], "expected a number above 0 and up to 10000"),
        (&["--speed", "60"], "speed needs clock"),
        (&["--clock", "2026-11-20T09:25", "--now", "2026-11-20T15:42:00-05:00"], "give only one of them"),
        (&["--listen", "localhost:2112"], "expected ADDRESS:PORT, such as 127.0.0.1:2112"),
        (&["--listen", "0.0.0.0:2112"], "--allow-remote"),
        (&["--log", "xml"], "expected text or json"),
        (&["--log-level", "loud"], "expected off, error, warn, info, debug or trace"),
    ];
    for (arguments, hint) in rows {
        let error = refused(&folder.0, arguments, &[]);
        assert!(error.contains(hint), "{arguments:?}: {error}");
    }
    let error = refused(&folder.0, &[], &[("GREEKSD_REFRESH", "fast")]);
    assert!(error.contains("expected seconds from 0.1 to 5"), "{error}");
    folder.write("greeksd.toml", "refesh = 1\n");
    let error = refused(&folder.0, &[], &[]);
    assert!(error.contains("greeksd.toml: unknown key `refesh`; did you mean `refresh`?"), "{error}");
    folder.write("greeksd.toml", "refresh = 50\n");
    let error = refused(&folder.0, &[], &[]);
    assert!(error.contains("greeksd.toml: refresh = 50: expected seconds from 0.1 to 5"), "{error}");
}

#[test]
fn remote_addresses_are_taken_when_that_is_said() {
    let folder = Folder::new("remote");
    let printed = printed(&folder.0, &["--listen", "0.0.0.0:2112", "--allow-remote"], &[]);
    assert_eq!(printed[0].0, "listen = [\"0.0.0.0:2112\"]");
    assert_eq!(printed[1], ("allow-remote = true".to_owned(), "command line".to_owned()));
}

#[test]
fn a_file_of_the_current_folder_opens_nothing_and_one_that_is_named_may() {
    let folder = Folder::new("here");
    let text = "listen = ['0.0.0.0:2112']\nallow-remote = true\nstate-dir = '/tmp/x'\nallow-host = ['box']\n";
    let file = folder.write("greeksd.toml", text);
    let error = refused(&folder.0, &[], &[]);
    assert!(error.contains("--allow-remote"), "{error}");
    assert!(error.contains("ignored keys: allow-remote, state-dir, allow-host"), "{error}");
    let found = printed(&folder.0, &["--listen", "127.0.0.1:1"], &[]);
    let expected =
        [("allow-remote = false", "default"), ("allow-host = []", "default"), ("# state-dir is not set", "default")];
    for (line, origin) in expected {
        assert!(found.contains(&(line.to_owned(), origin.to_owned())), "no {line} # {origin} in {found:#?}");
    }
    let named = printed(&folder.0, &["--config", file.to_str().unwrap()], &[]);
    for line in ["allow-remote = true", "allow-host = [\"box\"]", "state-dir = \"/tmp/x\""] {
        assert!(named.iter().any(|(shown, origin)| shown == line && origin.ends_with("greeksd.toml")), "{named:#?}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_current_folder_is_no_configuration() {
    let folder = Folder::new("pipe");
    assert!(Command::new("mkfifo").arg(folder.0.join("greeksd.toml")).status().unwrap().success());
    assert!(refused(&folder.0, &["--print-config"], &[]).contains("not a regular file"));
}

#[test]
fn hosts_and_bounds_are_options_like_the_others() {
    let folder = Folder::new("hosts");
    let variables = [("GREEKSD_ALLOW_HOST", "a.example,b"), ("GREEKSD_OLD_SNAPSHOTS_MB", "64")];
    let shown = printed(&folder.0, &[], &variables);
    for (line, origin) in [
        ("allow-host = [\"a.example\", \"b\"]", "GREEKSD_ALLOW_HOST"),
        ("old-snapshots-mb = 64", "GREEKSD_OLD_SNAPSHOTS_MB"),
    ] {
        assert!(shown.contains(&(line.to_owned(), origin.to_owned())), "{shown:#?}");
    }
    let quotes = |arguments: &[&str], variables: &[(&str, &str)]| {
        let shown = printed(&folder.0, arguments, variables);
        shown.into_iter().find(|(line, _)| line.contains("show-quotes")).unwrap()
    };
    assert_eq!(quotes(&[], &[]), ("show-quotes = false".to_owned(), "default".to_owned()));
    assert_eq!(quotes(&["--show-quotes"], &[]), ("show-quotes = true".to_owned(), "command line".to_owned()));
    let variable = [("GREEKSD_SHOW_QUOTES", "true")];
    assert_eq!(quotes(&[], &variable), ("show-quotes = true".to_owned(), "GREEKSD_SHOW_QUOTES".to_owned()));
    assert_eq!(quotes(&["--show-quotes=false"], &variable).0, "show-quotes = false");
    let shown = printed(&folder.0, &["--allow-host", "a", "--allow-host", "b"], &[]);
    assert!(shown.contains(&("allow-host = [\"a\", \"b\"]".to_owned(), "command line".to_owned())), "{shown:#?}");
    for (arguments, hint) in [
        (["--allow-host", "http://a"], "expected a host name without scheme and port"),
        (["--allow-host", "a:80"], "expected a host name without scheme and port"),
        (["--old-snapshots-mb", "1"], "expected megabytes from 16 to 1000000"),
    ] {
        let error = refused(&folder.0, &arguments, &[]);
        assert!(error.contains(hint), "{error}");
    }
}

#[test]
fn the_viewer_wants_a_terminal_and_says_what_is_wrong_with_its_arguments() {
    let folder = Folder::new("view");
    for (arguments, says) in [
        (&["view"][..], "needs a terminal"),
        (&["view", "SPY", "--url", "here"], "needs a terminal"),
        (&["view", "not a name"], "expected a symbol"),
        (&["view", "--watch", "A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q,R,S,T,U"], "20 at most"),
        (&["view", "--refresh", "0"], "expected seconds from 0.1 to 60"),
        (&["view", "--color", "many"], "possible values: auto, never, 16, 256"),
        (&["view", "--url", "http://127.0.0.1:1", "--feed", "sim"], "cannot be used with"),
        (&["view", "--", "--threads", "1"], "--feed"),
        (&["view", "--feed", "sim", "--", "--print-config"], "options of serve"),
        (&["view", "--feed", "sim", "--", "--thread", "1"], "--threads"),
    ] {
        let error = refused(&folder.0, arguments, &[]);
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
    let help = program(&folder.0, &["view", "--help"], &[]);
    let help = String::from_utf8(help.stdout).unwrap();
    for word in
        ["[SYMBOL]", "--url", "--feed", "--watch", "--refresh", "--color", "--ascii", "OSC 52", "? shows all keys"]
    {
        assert!(help.contains(word), "no {word} in {help}");
    }
}
