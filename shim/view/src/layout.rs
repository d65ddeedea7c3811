//! The areas of the screen, by its size alone. Never: their contents.

use ratatui::layout::Rect;

/// Page of the main area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Page {
    /// Calls and puts of an expiry.
    #[default]
    Chain,
    /// Volatilities of an expiry by strike.
    Smile,
    /// Volatilities at the money by expiry.
    Term,
    /// The watch list.
    Watch,
    /// Exposures by strike.
    Exposure,
}

impl Page {
    /// All pages, in the order of their keys.
    pub(crate) const ALL: [Self; 5] = [Self::Chain, Self::Smile, Self::Term, Self::Watch, Self::Exposure];

    /// Title of the page.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Smile => "smile",
            Self::Term => "term",
            Self::Watch => "watch",
            Self::Exposure => "exposure",
        }
    }

    /// The next page, or the previous one.
    pub(crate) fn beside(self, forward: bool) -> Self {
        let place = Self::ALL.iter().position(|page| *page == self).unwrap_or(0);
        let step = if forward { 1 } else { Self::ALL.len() - 1 };
        Self::ALL[(place + step) % Self::ALL.len()]
    }
}

/// Minimum size of the screen: columns and rows.
pub(crate) const LEAST: (u16, u16) = (60, 16);
/// Minimum width for the expiries beside the chain.
const BESIDE: u16 = 160;
/// Minimum width for the plots beside the chain, too.
const PLOTS_BESIDE: u16 = 200;
/// Width of the expiries.
const EXPIRIES_WIDTH: u16 = 60;

/// The areas of the screen; an area without room is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    /// Name, price, state.
    pub(crate) title: Rect,
    /// The expiries, with their heading.
    pub(crate) expiries: Rect,
    /// The page.
    pub(crate) main: Rect,
    /// The watch list beside the page.
    pub(crate) watch: Rect,
    /// The smile beside the page.
    pub(crate) smile: Rect,
    /// The term structure beside the page.
    pub(crate) term: Rect,
    /// Keys and messages.
    pub(crate) footer: Rect,
}

impl Areas {
    /// The areas of a screen of this size.
    pub(crate) fn of(width: u16, height: u16) -> Self {
        let title = Rect::new(0, 0, width, height.min(2));
        let footer = Rect::new(0, height.saturating_sub(1), width, height.min(1));
        let body = Rect::new(0, title.height, width, height.saturating_sub(title.height + footer.height));
        let areas = Self { title, footer, ..Self::default() };
        if width < BESIDE {
            let rows = (height / 5).clamp(4, 10);
            let (expiries, main) = over(body, rows + 1);
            return Self { expiries, main, ..areas };
        }
        let (left, rest) = beside(body, EXPIRIES_WIDTH);
        let (expiries, watch) = over(left, body.height * 3 / 5);
        if width < PLOTS_BESIDE {
            return Self { expiries, watch, main: rest, ..areas };
        }
        let (main, right) = beside(rest, rest.width - rest.width / 3);
        let (smile, term) = over(right, right.height / 2);
        Self { expiries, watch, main, smile, term, ..areas }
    }

    /// Number of lines of the chain, without its two lines of heading.
    pub(crate) const fn chain_lines(&self) -> usize {
        self.main.height.saturating_sub(2) as usize
    }

    /// True if a page is visible.
    pub(crate) fn shows(&self, page: Page, chosen: Page) -> bool {
        let beside = match page {
            Page::Chain | Page::Exposure => Rect::default(),
            Page::Smile => self.smile,
            Page::Term => self.term,
            Page::Watch => self.watch,
        };
        page == chosen || !beside.is_empty()
    }
}

/// Splits an area into its first rows and the others.
fn over(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

/// Splits an area into its first columns and the others, with a gap of two columns.
fn beside(area: Rect, columns: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    let rest = (columns + 2).min(area.width);
    (Rect { width: columns, ..area }, Rect { x: area.x + rest, width: area.width - rest, ..area })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_stay_on_the_screen() {
        for width in 0..260 {
            for height in 0..80 {
                let areas = Areas::of(width, height);
                let parts =
                    [areas.title, areas.expiries, areas.main, areas.watch, areas.smile, areas.term, areas.footer];
                let screen = Rect::new(0, 0, width, height);
                for (i, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
                    assert_eq!(part.intersection(screen), *part, "{width} x {height}: {areas:?}");
                    for other in &parts[..i] {
                        assert!(
                            part.intersection(*other).is_empty() || height < 4,
                            "{width} x {height}: {part} and {other}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_sizes_that_are_promised_have_room_for_a_chain() {
        for (size, lines, beside) in [((80, 24), 14, false), ((120, 40), 26, false), ((250, 70), 60, true)] {
            let areas = Areas::of(size.0, size.1);
            assert!(areas.chain_lines() >= lines, "{size:?}: {areas:?}");
            assert!(areas.expiries.height >= 5, "{size:?}: {areas:?}");
            for page in [Page::Smile, Page::Term, Page::Watch] {
                assert_eq!(areas.shows(page, Page::Chain), beside, "{size:?} {page:?}");
            }
        }
    }

    #[test]
    fn pages_go_round() {
        let mut page = Page::Chain;
        for _ in Page::ALL {
            assert_eq!(page.beside(true).beside(false), page);
            page = page.beside(true);
        }
        assert_eq!(page, Page::Chain);
    }
}
