//! The `greeksd` program: arguments to one configuration, threads, start.
fn main() {}
