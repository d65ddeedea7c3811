//! Draws the state into a buffer of characters. Never: a change of state, a terminal.

mod chain;
mod curves;
mod expiries;
mod exposure;
mod footer;
mod overlays;
mod pen;
mod plot;
mod title;
mod watch;

use super::layout::{LEAST, Page};
use super::palette::{Look, Palette};
use super::state::State;
use pen::Pen;
use ratatui::buffer::Buffer;

/// Draws the whole screen.
pub(crate) fn draw(state: &State, palette: Palette, buffer: &mut Buffer) {
    let screen = buffer.area;
    let mut pen = Pen { buffer, palette };
    let pen = &mut pen;
    if screen.width < LEAST.0 || screen.height < LEAST.1 {
        let text = format!("needs {} x {}, has {} x {}", LEAST.0, LEAST.1, screen.width, screen.height);
        pen.middle(screen.y + screen.height / 2, screen, &text, Look::Strong);
        return;
    }
    let areas = state.areas();
    title::draw(pen, areas.title, state);
    expiries::draw(pen, areas.expiries, state);
    match state.page {
        Page::Chain => chain::draw(pen, areas.main, state),
        Page::Smile => curves::smile(pen, areas.main, state),
        Page::Term => curves::term(pen, areas.main, state),
        Page::Watch => watch::draw(pen, areas.main, state, true),
        Page::Exposure => exposure::draw(pen, areas.main, state),
    }
    watch::draw(pen, areas.watch, state, false);
    if !areas.smile.is_empty() {
        curves::smile(pen, areas.smile, state);
        curves::term(pen, areas.term, state);
    }
    footer::draw(pen, areas.footer, state);
    overlays::draw(pen, screen, state);
}
