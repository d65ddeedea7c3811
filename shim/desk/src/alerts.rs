//! Alerts: a small file of rules ([`rules`]), looked at after each pass ([`watch`]). Hits go to the log, to streams
//! ([`log`]) and to a command or an address of this machine, where the user names one ([`deliver`]). Never: a formula.

pub mod deliver;
pub mod log;
pub mod rules;
pub mod watch;
