/// A piece of an RTF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// `\*`: the group may be passed over by who does not know it.
    Ignorable,
    Control {
        word: &'a [u8],
        value: Option<i32>,
    },
    /// A control of one character that is no letter.
    Symbol(u8),
    /// `\'hh`, or a character that had to be escaped.
    Byte(u8),
    Text(&'a [u8]),
}

/// The pieces of a file from front to back.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !accept(*byte)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// What follows a backslash.
    fn control(&mut self) -> Option<Token<'a>> {
        let word = self.take_while(|byte| byte.is_ascii_alphabetic());
        if word.is_empty() {
            let symbol = *self.take(1).first()?;
            return Some(match symbol {
                b'\'' => Token::Byte(hex(self.take(2))),
                b'\\' | b'{' | b'}' => Token::Byte(symbol),
                b'*' => Token::Ignorable,
                symbol => Token::Symbol(symbol),
            });
        }
        let is_negative = self.rest.first() == Some(&b'-');
        if is_negative {
            self.take(1);
        }
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        if self.rest.first() == Some(&b' ') {
            self.take(1);
        }
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i32>().ok());
        let value = number.map(|number| if is_negative { -number } else { number });
        if word == b"bin" {
            // So many raw bytes follow, which may look like anything.
            self.take(value.and_then(|count| usize::try_from(count).ok()).unwrap_or(0));
        }
        Some(Token::Control { word, value })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            match self.rest.first()? {
                b'{' => {
                    self.take(1);
                    return Some(Token::Open);
                }
                b'}' => {
                    self.take(1);
                    return Some(Token::Close);
                }
                b'\\' => {
                    self.take(1);
                    return self.control();
                }
                // Line breaks of the file mean nothing.
                b'\r' | b'\n' | 0 => {
                    self.take(1);
                }
                _ => {
                    let is_text = |byte| !matches!(byte, b'{' | b'}' | b'\\' | b'\r' | b'\n' | 0);
                    return Some(Token::Text(self.take_while(is_text)));
                }
            }
        }
    }
}

/// Two hexadecimal digits; what is none counts as zero.
fn hex(digits: &[u8]) -> u8 {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
    digits.iter().fold(0, |value, byte| (value << 4) | digit(byte)) as u8
}
