//! Tables of settings, the numbers of a method that are a choice: one table per room, each number with its unit, its
//! trade-off and the reason for its value. Mathematical constants, and bounds of inputs ([`crate::limits`]), are no
//! settings. Never: a number.

/// Reason for the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A test of this name fails or misses its bound at another value.
    Test(&'static str),
    /// A measurement, with its result.
    Measured(&'static str),
    /// Judgement, with its argument.
    Judgement(&'static str),
    /// No reason is on record; a test of this name bounds the errors with the value in use.
    Bounded(&'static str),
}

/// One number of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Name of the field.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// The value in use.
    pub value: f64,
    /// The reason for the value.
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
