//! Which build of greeksd a processor can run: asked before any of them is loaded. Never: a dependency, a computation.

pub mod choice;
pub mod level;
