//! Text files of Greeks: the rows of `/l1/greeks`, byte for byte, each with its time. Never: a format of its own.

use api::picked::{Picked, Ranges};
use api::rows::clock::Clock;
use api::rows::field::Field;
use api::rows::frame::{Format, Heading};
use api::rows::layout::{AnswerLayout, Around, Per, Walk};
use api::rows::stream::RowStream;
use api::vendors::native::FIELDS;
use engine::store::chain::Chain;
use engine::store::columns::Group;
use history::output::{FileAbout, FileForm, GreeksWriter};
use history::recipe::Recipe;
use history::schema::file_groups;
use http::{Progress, Stream};
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// Writes text files for a recipe.
#[derive(Clone)]
pub(super) struct TextForm {
    format: Format,
    fields: Vec<Field>,
    groups: &'static str,
    calendar: Calendar,
    roots: Arc<RootTable>,
}

impl TextForm {
    pub(super) fn new(format: Format, recipe: Recipe) -> Self {
        Self {
            format,
            fields: fields(recipe),
            groups: file_groups(recipe),
            calendar: Calendar::embedded(),
            roots: Arc::new(RootTable::embedded()),
        }
    }
}

/// Fields of the native record in the files of a recipe, without those that are computed when they are asked for and
/// the reasons of the calibration. Files without quotes have the time of the snapshot, too.
pub(super) fn fields(recipe: Recipe) -> Vec<Field> {
    let shown = |field: &&Field| match field.group {
        Some(Group::Exercise) => false,
        Some(Group::Quote) => field.name == "quote_time" || recipe.quotes && field.name != "dropped",
        _ => true,
    };
    FIELDS.iter().filter(shown).copied().collect()
}

impl FileForm for TextForm {
    fn extension(&self) -> &'static str {
        if self.format == Format::PointCsv { "csv" } else { "ndjson" }
    }

    fn begin(&self, file: File, _: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        Ok(Box::new(TextWriter { form: self.clone(), file, piece: Vec::new(), is_begun: false }))
    }
}

struct TextWriter {
    form: TextForm,
    file: File,
    piece: Vec<u8>,
    is_begun: bool,
}

impl GreeksWriter for TextWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        let mut all = Ranges::default();
        all.push(0..chain.rows());
        let picked = Picked { chain: Arc::clone(chain), rows: all.into_vec() };
        let mut rows = RowStream::new(self.layout(chain), vec![picked]);
        self.is_begun = true;
        loop {
            self.piece.clear();
            let progress = rows.fill(&mut self.piece);
            self.file.write_all(&self.piece)?;
            if progress == Progress::Done {
                return Ok(());
            }
        }
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        Ok(self.file)
    }
}

impl TextWriter {
    fn layout(&self, chain: &Chain) -> AnswerLayout {
        let TextForm { format, fields, groups, calendar, roots } = &self.form;
        AnswerLayout {
            fields: fields.clone(),
            frame: format.frame(),
            groups: (*groups).to_owned(),
            heading: Heading::default(),
            header: !self.is_begun,
            around: Around::default(),
            walk: Walk::Rows,
            per: Per::Contract,
            clock: Clock::new(chain.valued_at, chain.valued_at, calendar.zone()),
            roots: Arc::clone(roots),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::schema::file_columns;

    #[test]
    fn text_and_parquet_have_the_same_columns() {
        for quotes in [false, true] {
            let recipe = Recipe { quotes, ..Recipe::default() };
            let text: Vec<&str> =
                fields(recipe).iter().map(|field| field.name).filter(|name| *name != "quote_time").collect();
            let own = ["quote_time", "quote_date", "strike_milli"];
            let columns = file_columns(recipe);
            let parquet: Vec<&str> =
                columns.iter().map(|column| column.name).filter(|name| !own.contains(name)).collect();
            assert_eq!(text, parquet);
            assert_eq!(columns.len(), parquet.len() + own.len());
        }
    }
}
