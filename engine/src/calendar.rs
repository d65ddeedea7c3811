//! Eastern time, sessions, early closes, settlement instants. Never: asks what time it is.
