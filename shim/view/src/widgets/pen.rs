//! Writes text into the buffer of the screen, for all widgets.

use crate::palette::{Look, Palette};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Writer to a buffer, with styles by meaning.
pub(crate) struct Pen<'a> {
    /// Buffer of the screen.
    pub(crate) buffer: &'a mut Buffer,
    /// Styles and signs.
    pub(crate) palette: Palette,
}

/// A line within an area, written from left to right.
pub(crate) struct PenLine<'p, 'a> {
    pen: &'p mut Pen<'a>,
    x: u16,
    y: u16,
    end: u16,
}

impl<'a> Pen<'a> {
    /// The style of a meaning.
    pub(crate) fn style(&self, look: Look) -> Style {
        self.palette.style(look)
    }

    /// Writes text at a place, at most to the right end of `within`; returns the end of the text.
    pub(crate) fn text(&mut self, x: u16, y: u16, within: Rect, text: &str, look: Look) -> u16 {
        let style = self.style(look);
        self.styled(x, y, within, text, style)
    }

    /// Writes text like [`Pen::text`], in another style.
    pub(crate) fn styled(&mut self, x: u16, y: u16, within: Rect, text: &str, style: Style) -> u16 {
        let within = within.intersection(self.buffer.area);
        if y < within.top() || y >= within.bottom() || x < within.left() || x >= within.right() {
            return x;
        }
        self.buffer.set_stringn(x, y, text, usize::from(within.right() - x), style).0
    }

    /// Writes text right-aligned in a cell of `width` columns.
    pub(crate) fn right(&mut self, x: u16, y: u16, width: u16, within: Rect, text: &str, look: Look) {
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let start = x + width.saturating_sub(length);
        let cell = Rect { x, y, width, height: 1 }.intersection(within);
        self.text(start, y, cell, text, look);
    }

    /// Writes text in the middle of a line.
    pub(crate) fn middle(&mut self, y: u16, within: Rect, text: &str, look: Look) {
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let x = within.x + within.width.saturating_sub(length) / 2;
        self.text(x, y, within, text, look);
    }

    /// Draws a horizontal line across an area, with a title in it.
    pub(crate) fn rule(&mut self, y: u16, within: Rect, title: &str, look: Look) {
        let line = self.palette.signs.rule.to_string().repeat(within.width.into());
        self.text(within.x, y, within, &line, Look::Faint);
        if !title.is_empty() {
            self.text(within.x + 2, y, within, &format!(" {title} "), look);
        }
    }

    /// Begins a line that is written from left to right.
    pub(crate) fn line(&mut self, y: u16, within: Rect) -> PenLine<'_, 'a> {
        PenLine { x: within.x, y, end: within.right(), pen: self }
    }

    /// Clears an area.
    pub(crate) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// Draws an empty box with a title in the middle of an area; returns its inner area.
    pub(crate) fn frame(&mut self, within: Rect, width: u16, height: u16, title: &str) -> Rect {
        let (width, height) = (width.min(within.width), height.min(within.height));
        let x = within.x + (within.width - width) / 2;
        let y = within.y + (within.height - height) / 2;
        let area = Rect { x, y, width, height };
        self.clear(area);
        if width < 4 || height < 3 {
            return Rect::default();
        }
        let signs = self.palette.signs;
        let across = signs.rule.to_string().repeat(usize::from(width - 2));
        let [top_left, top_right, bottom_left, bottom_right] = signs.corners;
        self.text(x, y, area, &format!("{top_left}{across}{top_right}"), Look::Faint);
        self.text(x, area.bottom() - 1, area, &format!("{bottom_left}{across}{bottom_right}"), Look::Faint);
        for y in y + 1..area.bottom() - 1 {
            self.text(x, y, area, &signs.wall.to_string(), Look::Faint);
            self.text(area.right() - 1, y, area, &signs.wall.to_string(), Look::Faint);
        }
        self.text(x + 2, y, area, &format!(" {title} "), Look::Heading);
        Rect { x: x + 2, y: y + 1, width: width - 4, height: height - 2 }
    }
}

impl PenLine<'_, '_> {
    /// Writes the next piece.
    pub(crate) fn put(&mut self, text: &str, look: Look) -> &mut Self {
        let within = Rect { x: self.x, y: self.y, width: self.end.saturating_sub(self.x), height: 1 };
        self.x = self.pen.text(self.x, self.y, within, text, look).max(self.x);
        self
    }

    /// Writes a number right-aligned in a cell.
    pub(crate) fn cell(&mut self, width: u16, text: &str, look: Look) -> &mut Self {
        let within = Rect { x: self.x, y: self.y, width: self.end.saturating_sub(self.x), height: 1 };
        self.pen.right(self.x, self.y, width.min(within.width), within, text, look);
        self.x = (self.x + width).min(self.end);
        self
    }

    /// Leaves some columns empty.
    pub(crate) fn gap(&mut self, columns: u16) -> &mut Self {
        self.x = (self.x + columns).min(self.end);
        self
    }

    /// Position of the next piece.
    pub(crate) fn x(&self) -> u16 {
        self.x
    }
}
