//! The terminal: enters it, draws on it, and restores it in any case. Never: the contents of the screen.

use super::keys::Key;
use super::palette::{ColourDepth, Palette};
use super::state::State;
use super::widgets;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, style, terminal};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum bytes for the clipboard of the terminal: terminals accept some tens of thousands.
const CLIPBOARD_MOST: usize = 50_000;
/// Maximum number of cells of a screen.
const CELLS_MOST: u32 = 400_000;

/// True while the viewer has the terminal. It is global because a process has one terminal.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The screen; dropping it restores the terminal.
pub(crate) struct Screen {
    backend: CrosstermBackend<BufWriter<Stdout>>,
    palette: Palette,
    shown: Buffer,
}

impl Screen {
    /// Enters the terminal.
    ///
    /// # Errors
    /// There is no terminal.
    pub(crate) fn enter(palette: Palette) -> io::Result<Self> {
        // the palette decides on colours, and not the environment
        style::force_color_output(palette.depth != ColourDepth::None);
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        Ok(Self { backend, palette, shown: Buffer::empty(Rect::default()) })
    }

    /// Size of the screen: columns and rows.
    ///
    /// # Errors
    /// The terminal has gone.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let (width, height) = terminal::size()?;
        let rows_most = CELLS_MOST / u32::from(width.max(1));
        Ok((width, height.min(u16::try_from(rows_most).unwrap_or(u16::MAX))))
    }

    /// Draws the changes.
    ///
    /// # Errors
    /// The terminal has gone.
    pub(crate) fn draw(&mut self, state: &State) -> io::Result<()> {
        let area = Rect::new(0, 0, state.size.0, state.size.1);
        if self.shown.area != area {
            self.backend.clear()?;
            self.shown = Buffer::empty(area);
        }
        let mut next = Buffer::empty(area);
        widgets::draw(state, self.palette, &mut next);
        self.backend.draw(self.shown.diff(&next).into_iter())?;
        Backend::flush(&mut self.backend)?;
        self.shown = next;
        Ok(())
    }

    /// Makes the next drawing a whole one.
    pub(crate) fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::default());
    }

    /// Copies text to the clipboard of the terminal, if it supports that (OSC 52).
    ///
    /// # Errors
    /// The terminal has gone.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        if text.len() <= CLIPBOARD_MOST {
            write!(self.backend, "\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text))?;
            Write::flush(&mut self.backend)?;
        }
        Ok(())
    }

    /// Gives the terminal back to the shell until the shell continues the program.
    ///
    /// # Errors
    /// The terminal has gone.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        {
            leave();
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
            take()?;
        }
        self.forget();
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn take() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    ENTERED.store(true, Ordering::Release);
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

/// Restores the terminal. It can be called at any time, from any thread, any number of times.
pub(crate) fn leave() {
    if ENTERED.swap(false, Ordering::AcqRel) {
        // if the terminal has gone, there is nothing to restore
        let _ = execute!(io::stdout(), style::ResetColor, cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// Makes a panic of the drawing thread restore the terminal before it is reported. Panics of other threads are logged,
/// and not written over the screen.
pub(crate) fn leave_on_panic() {
    let drawing = std::thread::current().id();
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == drawing {
            leave();
            say(panic);
        } else {
            tracing::error!("{panic}");
        }
    }));
}

/// Input from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A key.
    Key(Key),
    /// The size has changed.
    Resized,
}

/// Waits for the next key or change of size.
///
/// # Errors
/// The terminal has gone.
pub(crate) fn read() -> io::Result<Input> {
    loop {
        match crossterm::event::read()? {
            Event::Resize(..) => return Ok(Input::Resized),
            Event::Key(event) => {
                if let Some(key) = key_of(event) {
                    return Ok(Input::Key(key));
                }
            }
            _ => {}
        }
    }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has = |modifier| event.modifiers.contains(modifier);
    Some(match event.code {
        KeyCode::Char(c) if has(KeyModifiers::CONTROL) => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(_) if has(KeyModifiers::ALT) => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up if has(KeyModifiers::SHIFT) => Key::ShiftUp,
        KeyCode::Down if has(KeyModifiers::SHIFT) => Key::ShiftDown,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_is_held() {
        let event = |code, modifiers| KeyEvent::new(code, modifiers);
        for (code, modifiers, wanted) in [
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Key::Ctrl('c'))),
            (KeyCode::Char('K'), KeyModifiers::SHIFT, Some(Key::Char('K'))),
            (KeyCode::Char('x'), KeyModifiers::ALT, None),
            (KeyCode::Up, KeyModifiers::SHIFT, Some(Key::ShiftUp)),
            (KeyCode::Up, KeyModifiers::NONE, Some(Key::Up)),
            (KeyCode::F(1), KeyModifiers::NONE, None),
        ] {
            assert_eq!(key_of(event(code, modifiers)), wanted, "{code:?} {modifiers:?}");
        }
        let released = KeyEvent { kind: KeyEventKind::Release, ..event(KeyCode::Up, KeyModifiers::NONE) };
        assert_eq!(key_of(released), None);
    }
}
