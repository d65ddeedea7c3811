//! Every bound and domain, one table: name, unit, least, most. Never: a bound anywhere else.
