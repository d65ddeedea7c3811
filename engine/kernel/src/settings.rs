//! How the numbers of a method that somebody has chosen are written down: a table a room, each number with its unit,
//! what it trades, and what chose it. Mathematical constants, and bounds of what is let in ([`crate::limits`]), are
//! none. Never: a number.

/// What a number was chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A test of this name, which fails or misses its bound at another value.
    Test(&'static str),
    /// A measurement: which one, and its result.
    Measured(&'static str),
    /// Nothing but judgement: what is lost at another value.
    Judgement(&'static str),
    /// No record: a test of this name bounds the errors with the value in use.
    Bounded(&'static str),
}

/// One number of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its field.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its value.
    pub value: f64,
    /// What it was chosen by.
    pub chosen: Chosen,
}

/// The tables of a room: for each method a struct of its numbers, a constant with the values in use, and all of them as
/// a list that tests can walk.
#[macro_export]
macro_rules! settings {
    ($(
        $(#[doc = $method:literal])+
        $id:ident: $table:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $value:expr, $unit:literal, $how:ident($why:literal);)+
        }
    )+) => {
        $(
            $(#[doc = $method])+
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct $table {
                $(
                    $(#[doc = $doc])+
                    #[doc = concat!("\n\nUnit: ", $unit, ". ", stringify!($how), ": ", $why)]
                    pub $field: $type,
                )+
            }

            $(#[doc = $method])+
            /// The values in use.
            pub const $id: $table = $table { $($field: $value,)+ };
        )+

        /// Every number of the room, by method.
        pub const ALL: &[(&str, &[$crate::settings::Setting])] = &[$(
            (stringify!($id), &[$($crate::settings::Setting {
                name: stringify!($field),
                unit: $unit,
                value: $value as f64,
                chosen: $crate::settings::Chosen::$how($why),
            },)+]),
        )+];
    };
}
