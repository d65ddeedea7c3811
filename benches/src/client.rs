//! A small blocking client: one connection, one request after the other, every byte of the answer read and counted.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A kept-alive connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    line: String,
    scratch: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn connect(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        let stream = BufReader::with_capacity(256 * 1024, stream);
        Ok(Self { stream, line: String::new(), scratch: vec![0; 256 * 1024] })
    }

    /// The number of bytes in the body of the answer.
    ///
    /// # Errors
    /// The connection broke, or the answer is not a 200 of HTTP/1.1.
    pub fn get(&mut self, target: &str) -> io::Result<u64> {
        self.fetch(target, |_| ())
    }

    /// As [`Client::get`]; `take` is given every piece of the body.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn fetch(&mut self, target: &str, mut take: impl FnMut(&[u8])) -> io::Result<u64> {
        write!(self.stream.get_mut(), "GET {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n\r\n")?;
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        if !self.read_line()?.starts_with("HTTP/1.1 200") {
            return Err(wrong(&self.line));
        }
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.read_line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().map_err(|_| wrong(&line))?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
        }
        if !chunked {
            self.read_body(length, &mut take)?;
            return Ok(length);
        }
        let mut total = 0;
        loop {
            let chunk = u64::from_str_radix(self.read_line()?, 16).map_err(|_| wrong("a chunk without length"))?;
            self.read_body(chunk, &mut take)?;
            self.read_line()?;
            if chunk == 0 {
                return Ok(total);
            }
            total += chunk;
        }
    }

    fn read_line(&mut self) -> io::Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.line.trim_end())
    }

    fn read_body(&mut self, bytes: u64, take: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(self.scratch.len());
            let n = self.stream.read(&mut self.scratch[..most])?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            take(&self.scratch[..n]);
            left -= n as u64;
        }
        Ok(())
    }
}
