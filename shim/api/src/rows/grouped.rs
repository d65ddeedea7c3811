//! Groups rows of several snapshots: rows that end with a list and are equal otherwise become one row with all the
//! lists. Never: the meaning of a row.

use super::layout::AnswerLayout;
use super::stream::RowStream;
use crate::picked::Picked;
use http::{Progress, Stream};
use std::collections::HashMap;

/// Begin of the lists of a row; the row ends with them, as lists hold only numbers.
const LISTS: &[u8] = b":[[";
const END: &[u8] = b"]]}";
/// Approximate bytes of a piece of the answer.
const PIECE: usize = 1 << 16;

/// The grouped rows so far, in order of first occurrence.
#[derive(Debug, Default)]
pub struct GroupedRows {
    rows: Vec<GroupedRow>,
    places: HashMap<Vec<u8>, usize>,
    bytes: usize,
}

#[derive(Debug)]
struct GroupedRow {
    /// Text of the row before its lists.
    head: Vec<u8>,
    lists: Vec<u8>,
}

impl GroupedRows {
    /// Adds the rows of a snapshot.
    pub fn push(&mut self, layout: &AnswerLayout, picked: Vec<Picked>) {
        let mut text = Vec::new();
        let mut rows = RowStream::part(layout.clone(), picked, true);
        while rows.fill(&mut text) == Progress::More {}
        self.push_text(&text);
    }

    fn push_text(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(end) = find(rest, END) {
            let (row, after) = rest.split_at(end + END.len());
            rest = after.strip_prefix(b",").unwrap_or(after);
            let Some(at) = find(row, LISTS) else { continue };
            let (head, lists) = (&row[..at + 2], &row[at + 2..row.len() - 2]);
            self.bytes += lists.len();
            match self.places.get(head) {
                Some(&place) => {
                    self.rows[place].lists.push(b',');
                    self.rows[place].lists.extend_from_slice(lists);
                }
                None => {
                    self.bytes += 2 * head.len();
                    self.places.insert(head.to_vec(), self.rows.len());
                    self.rows.push(GroupedRow { head: head.to_vec(), lists: lists.to_vec() });
                }
            }
        }
    }

    /// Approximate bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The whole answer, in pieces.
    #[must_use]
    pub fn into_pieces(self, layout: &AnswerLayout) -> Vec<Vec<u8>> {
        let (mut pieces, mut piece) = (Vec::new(), layout.around.open.as_bytes().to_vec());
        for (i, GroupedRow { head, lists }) in self.rows.into_iter().enumerate() {
            if i > 0 {
                piece.push(b',');
            }
            piece.extend_from_slice(&head);
            piece.extend_from_slice(&lists);
            piece.extend_from_slice(b"]}");
            if piece.len() > PIECE {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        piece.extend_from_slice(layout.around.close.as_bytes());
        pieces.push(piece);
        pieces
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ_in_their_list_alone_are_one() {
        let mut rows = GroupedRows::default();
        rows.push_text(br#"{"contract":{"root":"A"},"ticks":[[1,2]]},{"contract":{"root":"B"},"ticks":[[3,4]]}"#);
        rows.push_text(br#"{"contract":{"root":"B"},"ticks":[[5,6]]}"#);
        let text = |row: &GroupedRow| String::from_utf8([&row.head[..], &row.lists].concat()).unwrap();
        let found: Vec<String> = rows.rows.iter().map(text).collect();
        let wanted = [r#"{"contract":{"root":"A"},"ticks":[[1,2]"#, r#"{"contract":{"root":"B"},"ticks":[[3,4],[5,6]"#];
        assert_eq!(found, wanted);
        assert!(rows.bytes() > 0);
    }
}
