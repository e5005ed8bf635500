//! Words and signs of a parameter file, comments dropped, `source` replaced by what it includes. A `#` begins a comment
//! where a word could begin; words hold anything but blanks and `;{},[]:?=`.

use std::path::{Path, PathBuf};

use super::files::{Files, plain};
use crate::DiskError;

/// A line of a file, for errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    file: u32,
    line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// One of `;{},[]:?=`.
    Sign(char),
}

/// A parameter file with all it includes.
pub(super) struct Text<'a> {
    files: &'a dyn Files,
    /// Where to look beside the including file's folder.
    search: Vec<PathBuf>,
    /// The files read, by `At::file`.
    opened: Vec<PathBuf>,
    pub tokens: Vec<(Token, At)>,
}

const SIGNS: &str = ";{},[]:?=";
/// Included files within each other, and all together: an include that includes itself by another name ends here.
const DEEPEST: usize = 16;
const MOST_FILES: usize = 256;

impl<'a> Text<'a> {
    pub fn open(files: &'a dyn Files, path: &Path, search: &[PathBuf]) -> Result<Self, DiskError> {
        let beside = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let search = std::iter::once(beside).chain(search.iter().cloned()).collect();
        let mut text = Self { files, search, opened: Vec::new(), tokens: Vec::new() };
        let content = text.read(path).map_err(|error| DiskError::File {
            file: path.display().to_string(),
            why: format!("cannot be read: {error}"),
        })?;
        text.append(path.to_path_buf(), &content, &mut Vec::new())?;
        Ok(text)
    }

    /// A file without the byte-order mark that some editors put in front.
    fn read(&self, path: &Path) -> Result<String, std::io::Error> {
        let text = self.files.read(path)?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
    }

    /// The file at `at` as the user knows it.
    pub fn file(&self, at: At) -> &Path {
        &self.opened[at.file as usize]
    }

    pub fn error(&self, at: At, why: impl Into<String>) -> DiskError {
        let file = self.opened.get(at.file as usize).map_or_else(String::new, |p| p.display().to_string());
        DiskError::Import { file, line: at.line as usize, why: why.into() }
    }

    /// `file:line`.
    pub fn name(&self, at: At) -> (String, usize) {
        (self.file(at).display().to_string(), at.line as usize)
    }

    /// Names of all files read so far, without their folders.
    pub fn file_names(&self) -> Vec<String> {
        self.opened.iter().filter_map(|p| Some(p.file_name()?.to_string_lossy().into_owned())).collect()
    }

    /// Finds and reads `name` as mentioned at `at`.
    pub fn find(&mut self, name: &str, at: At) -> Result<(PathBuf, String), DiskError> {
        if self.opened.len() >= MOST_FILES {
            return Err(self.error(at, format!("more than {MOST_FILES} files are included")));
        }
        let beside = self.file(at).parent().unwrap_or(Path::new("")).to_path_buf();
        for folder in std::iter::once(&beside).chain(&self.search) {
            let path = plain(&folder.join(name));
            match self.read(&path) {
                Ok(text) => return Ok((path, text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.error(at, format!("`{}` cannot be read: {error}", path.display()))),
            }
        }
        let searched = self.search.iter().map(|p| format!("`{}`", p.display())).collect::<Vec<_>>().join(", ");
        Err(self.error(at, format!("`{name}` is not beside this file nor in {searched}")))
    }

    /// Marks a file as read that is not made of tokens.
    pub fn note_file(&mut self, path: PathBuf) {
        self.opened.push(path);
    }

    fn append(&mut self, path: PathBuf, content: &str, within: &mut Vec<PathBuf>) -> Result<(), DiskError> {
        let file = self.opened.len() as u32;
        self.opened.push(path.clone());
        within.push(plain(&path));
        let mut including = false;
        for (number, line) in content.lines().enumerate() {
            let at = At { file, line: number as u32 + 1 };
            for token in tokens(line) {
                match token {
                    Token::Word(name) if including => {
                        including = false;
                        let (path, content) = self.find(&name, at)?;
                        if within.contains(&path) {
                            return Err(self.error(at, format!("`{name}` includes itself")));
                        }
                        if within.len() >= DEEPEST {
                            return Err(self.error(at, format!("includes are nested deeper than {DEEPEST}")));
                        }
                        self.append(path, &content, within)?;
                    }
                    Token::Sign(sign) if including => {
                        return Err(self.error(at, format!("`source` needs a file name, not `{sign}`")));
                    }
                    Token::Word(word) if word == "source" => including = true,
                    token => self.tokens.push((token, at)),
                }
            }
        }
        within.pop();
        if including {
            let at = At { file, line: content.lines().count() as u32 };
            return Err(self.error(at, "`source` needs a file name"));
        }
        Ok(())
    }
}

/// The tokens of one line.
fn tokens(line: &str) -> impl Iterator<Item = Token> {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next().filter(|c| *c != '#')?;
        let length = if SIGNS.contains(first) {
            first.len_utf8()
        } else {
            rest.find(|c: char| c.is_whitespace() || SIGNS.contains(c)).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(if SIGNS.contains(first) { Token::Sign(first) } else { Token::Word(word.into()) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_begins_where_a_word_could_begin() {
        let words: Vec<Token> = tokens("a#b = [ 1 ],# c, d").collect();
        let word = |w: &str| Token::Word(w.into());
        let sign = Token::Sign;
        assert_eq!(words, [word("a#b"), sign('='), sign('['), word("1"), sign(']'), sign(',')]);
    }
}
