//! The grammar: blocks of `key = value`, lists, ranges of names, `instantiate`, `topology`.

use super::token::{At, Text, Token};
use crate::DiskError;

/// The whole file.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub blocks: Vec<Block>,
    pub instances: Vec<Instances>,
    pub topology: Vec<Node>,
}

/// `kind name { key = value, … }`; inside a value the name may be absent.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub kind: String,
    pub name: Option<String>,
    pub keys: Vec<Key>,
    pub at: At,
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub name: String,
    pub value: Value,
    pub at: At,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A number as written; hexadecimal with `0x`.
    Number(f64),
    Word(String),
    List(Vec<(Value, At)>),
    Block(Block),
    Node(Node),
}

/// `instantiate [ names ] as of`.
#[derive(Debug)]
pub(super) struct Instances {
    pub names: Vec<String>,
    pub of: String,
    pub at: At,
}

/// `kind name [ children ]`.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: String,
    pub name: String,
    pub children: Vec<Node>,
    pub at: At,
}

/// Deeper than any real file; keeps recursion off the end of the stack.
const DEEPEST: usize = 64;
/// Names in a range.
const LONGEST_RANGE: u32 = 65_536;

pub(super) fn parse(text: &Text) -> Result<Document, DiskError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let mut document = Document::default();
    while parser.peek(0).is_some() {
        let at = parser.here();
        match parser.word()? {
            word if word == "instantiate" => {
                let names = parser.names()?;
                parser.keyword("as")?;
                document.instances.push(Instances { names, of: parser.word()?, at });
            }
            word if word == "topology" => {
                let (kind, name) = (parser.word()?, parser.word()?);
                document.topology.push(parser.node(kind, name, at)?);
            }
            kind => {
                let name = parser.word()?;
                document.blocks.push(parser.block(kind, Some(name), at)?);
            }
        }
    }
    Ok(document)
}

struct Parser<'a> {
    text: &'a Text<'a>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.text.tokens.get(self.at + ahead).map(|(token, _)| token)
    }

    /// Where the next token is; at the end, where the last one was.
    fn here(&self) -> At {
        let last = self.text.tokens.len().saturating_sub(1);
        self.text.tokens.get(self.at.min(last)).map_or_else(At::default, |(_, at)| *at)
    }

    fn expected(&self, what: &str) -> DiskError {
        let found = match self.peek(0) {
            None => "the file ends".into(),
            Some(Token::Word(word)) => format!("`{word}` stands there"),
            Some(Token::Sign(sign)) => format!("`{sign}` stands there"),
        };
        self.text.error(self.here(), format!("expected {what}, but {found}"))
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.peek(ahead) == Some(&Token::Sign(sign))
    }

    fn is_word(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), Some(Token::Word(_)))
    }

    /// Takes the sign if it is next.
    fn took(&mut self, sign: char) -> bool {
        let there = self.is(0, sign);
        self.at += usize::from(there);
        there
    }

    fn sign(&mut self, sign: char) -> Result<(), DiskError> {
        if self.took(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    fn word(&mut self) -> Result<String, DiskError> {
        let Some(Token::Word(word)) = self.peek(0) else { return Err(self.expected("a name")) };
        let word = word.clone();
        self.at += 1;
        Ok(word)
    }

    fn keyword(&mut self, keyword: &str) -> Result<(), DiskError> {
        if self.peek(0) == Some(&Token::Word(keyword.into())) {
            self.at += 1;
            return Ok(());
        }
        Err(self.expected(&format!("`{keyword}`")))
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, DiskError>) -> Result<T, DiskError> {
        if self.depth >= DEEPEST {
            return Err(self.text.error(self.here(), format!("nested deeper than {DEEPEST}")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn block(&mut self, kind: String, name: Option<String>, at: At) -> Result<Block, DiskError> {
        self.sign('{')?;
        let keys = self.deeper(|parser| {
            let mut keys = Vec::new();
            while !parser.took('}') {
                keys.push(parser.key()?);
                if !parser.took(',') && !parser.is(0, '}') {
                    return Err(parser.expected("`,` or `}`"));
                }
            }
            Ok(keys)
        })?;
        Ok(Block { kind, name, keys, at })
    }

    /// A key is words up to `=`.
    fn key(&mut self) -> Result<Key, DiskError> {
        let at = self.here();
        let mut name = self.word()?;
        while self.is_word(0) {
            name.push(' ');
            name.push_str(&self.word()?);
        }
        self.sign('=')?;
        Ok(Key { name, value: self.value()?, at })
    }

    fn value(&mut self) -> Result<Value, DiskError> {
        let at = self.here();
        if self.is(0, '[') {
            return self.list();
        }
        let word = self.word()?;
        if self.is(0, '{') {
            return Ok(Value::Block(self.block(word, None, at)?));
        }
        if self.is_word(0) && self.is(1, '{') {
            let name = self.word()?;
            return Ok(Value::Block(self.block(word, Some(name), at)?));
        }
        if self.is_word(0) && self.is(1, '[') {
            let name = self.word()?;
            return Ok(Value::Node(self.node(word, name, at)?));
        }
        Ok(number(&word).map_or(Value::Word(word), Value::Number))
    }

    fn list(&mut self) -> Result<Value, DiskError> {
        self.sign('[')?;
        let items = self.deeper(|parser| {
            let mut items = Vec::new();
            while !parser.took(']') {
                let at = parser.here();
                let value = parser.value()?;
                match (value, parser.peek(0)) {
                    (Value::Word(first), Some(Token::Word(dots))) if dots == ".." => {
                        parser.at += 1;
                        let last = parser.word()?;
                        let names = parser.range(&first, &last, at)?;
                        items.extend(names.into_iter().map(|name| (Value::Word(name), at)));
                    }
                    (value, _) => items.push((value, at)),
                }
                if !parser.took(',') && !parser.is(0, ']') {
                    return Err(parser.expected("`,` or `]`"));
                }
            }
            Ok(items)
        })?;
        Ok(Value::List(items))
    }

    /// `disk0 .. disk4`: both ends are part of it.
    fn range(&self, first: &str, last: &str, at: At) -> Result<Vec<String>, DiskError> {
        let bad = || self.text.error(at, format!("`{first} .. {last}` is not a range of numbered names"));
        let ((stem, from), (end, to)) = (numbered(first).ok_or_else(bad)?, numbered(last).ok_or_else(bad)?);
        if stem != end || to < from || to - from >= LONGEST_RANGE {
            return Err(bad());
        }
        Ok((from..=to).map(|n| format!("{stem}{n}")).collect())
    }

    fn names(&mut self) -> Result<Vec<String>, DiskError> {
        let at = self.here();
        let Value::List(items) = self.list()? else { return Err(self.expected("a list")) };
        let name = |(value, at)| match value {
            Value::Word(word) => Ok(word),
            _ => Err(self.text.error(at, "expected a name")),
        };
        let names = items.into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() { Err(self.text.error(at, "nothing is instantiated")) } else { Ok(names) }
    }

    fn node(&mut self, kind: String, name: String, at: At) -> Result<Node, DiskError> {
        let Value::List(items) = self.list()? else { return Err(self.expected("a list")) };
        let child = |(value, at)| match value {
            Value::Node(node) => Ok(node),
            _ => Err(self.text.error(at, "expected a component: `kind name [ … ]`")),
        };
        Ok(Node { kind, name, children: items.into_iter().map(child).collect::<Result<_, _>>()?, at })
    }
}

/// A number as DiskSim writes it. Words such as `inf` stay words.
fn number(word: &str) -> Option<f64> {
    let (sign, digits) = word.strip_prefix('-').map_or((1.0, word), |rest| (-1.0, rest));
    if let Some(hex) = digits.strip_prefix("0x") {
        return u32::from_str_radix(hex, 16).ok().map(|n| sign * f64::from(n));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    digits.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| sign * n)
}

/// A name and the number at its end.
fn numbered(name: &str) -> Option<(&str, u32)> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    number.parse().ok().map(|n| (stem, n))
}
