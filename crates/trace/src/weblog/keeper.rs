//! Decides line by line what [`prepare`](mod@super::prepare) keeps, and remembers it in the terms of the replay table.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::WeblogError;
use super::info::{BrokenLines, all_broken};
use super::input::{Piece, names};
use super::key::Key;
use super::line::{Broken, Line};
use super::names::Namer;
use super::objects::Objects;
use super::prepare_options::PrepareOptions;
use super::rules::Rules;
use super::select::{Keep, Span};
use super::sort::{Kept, Sorter};
use super::statics::why_not_static;

/// Methods a table can hold; requests with further ones are left out.
const METHODS: usize = 100;

/// Decides line by line what is kept, and remembers it.
pub(crate) struct Keeper<'a> {
    pub options: &'a PrepareOptions,
    pub folder: &'a Path,
    pub span: Span,
    pub rules: Rules,
    pub objects: Objects,
    pub clients: HashMap<[u8; 16], u32>,
    pub key: &'a Key,
    pub methods: Vec<String>,
    pub sorter: Sorter<'a>,
    pub broken: Vec<BrokenLines>,
    pub left_out: BTreeMap<&'static str, u64>,
    pub parsed: u64,
    pub kept: u64,
    pub sizes_missing: u64,
    pub out_of_order: u64,
    pub before: i64,
    pub first: i64,
    pub last: i64,
    pub in_last: usize,
}

impl<'a> Keeper<'a> {
    pub fn new(options: &'a PrepareOptions, key: &'a Key, folder: &'a Path) -> Result<Self, WeblogError> {
        Ok(Self {
            options,
            folder,
            span: Span::new(options.since.as_deref(), options.until.as_deref(), options.hours.as_deref())?,
            rules: Rules::new(&options.cut)?,
            objects: Objects::new(Namer::new(options.names, key.bytes())),
            clients: HashMap::new(),
            key,
            methods: Vec::new(),
            sorter: Sorter::new(folder),
            broken: BrokenLines::none(),
            left_out: BTreeMap::new(),
            parsed: 0,
            kept: 0,
            sizes_missing: 0,
            out_of_order: 0,
            before: i64::MIN,
            first: i64::MAX,
            last: i64::MIN,
            in_last: 0,
        })
    }

    pub fn piece(&mut self, number: u64, piece: Piece<'_>) -> Result<(), WeblogError> {
        let parsed = match piece {
            Piece::Line(text) => Line::parse(text),
            Piece::TooLong => Err(Broken::TooLong),
            Piece::CutOff => Err(Broken::CutOff),
        };
        match parsed {
            Err(why) => self.broken[why as usize].add(number),
            Ok(line) => {
                self.parsed += 1;
                match self.classify(&line) {
                    Ok((method, object)) => self.keep(number, &line, method, object)?,
                    Err(reason) => *self.left_out.entry(reason).or_default() += 1,
                }
            }
        }
        Ok(())
    }

    /// Method and object of a line that stays, or why it does not.
    fn classify(&mut self, line: &Line<'_>) -> Result<(u8, u32), &'static str> {
        if !self.span.contains(line.time) {
            return Err("span");
        }
        if let Some(rule) = self.rules.cut(line) {
            return Err(rule);
        }
        let request = line.request_line().ok_or("odd_request")?;
        let statuses = match self.options.keep {
            Keep::Static => {
                if let Some(why) = why_not_static(&request) {
                    return Err(why);
                }
                Some(&[200, 206, 304][..])
            }
            Keep::Get if !matches!(request.method, b"GET" | b"HEAD") => return Err("method"),
            Keep::Get | Keep::All => None,
        };
        if self.options.statuses.as_deref().or(statuses).is_some_and(|kept| !kept.contains(&line.status)) {
            return Err("status");
        }
        let name = std::str::from_utf8(request.method).map_err(|_| "odd_request")?;
        let method = match self.methods.iter().position(|known| known == name) {
            Some(at) => at,
            None if self.methods.len() == METHODS => return Err("method"),
            None => self.methods.len(),
        };
        let object = self.objects.number(request.target).ok_or("not_a_path")?;
        if method == self.methods.len() {
            self.methods.push(name.to_owned());
        }
        if name == "GET"
            && line.status == 200
            && let Some(size) = line.size
        {
            self.objects.answered(object, size);
        }
        Ok((method as u8, object))
    }

    fn keep(&mut self, number: u64, line: &Line<'_>, method: u8, object: u32) -> Result<(), WeblogError> {
        let utc_s = line.time.utc_s;
        self.kept += 1;
        self.sizes_missing += u64::from(line.size.is_none());
        self.out_of_order += u64::from(utc_s < self.before);
        self.before = utc_s;
        self.first = self.first.min(utc_s);
        if utc_s > self.last {
            (self.last, self.in_last) = (utc_s, 0);
        }
        self.in_last += usize::from(utc_s == self.last);
        let fresh = self.clients.len() as u32;
        let client = *self.clients.entry(self.key.client(line.host)).or_insert(fresh);
        let size = line.size.map_or(Kept::NO_SIZE, |size| i64::try_from(size).unwrap_or(i64::MAX));
        let kept = Kept { utc_s, line: number, size, object, client, status: line.status, method };
        self.sorter.push(kept).map_err(|e| WeblogError::io(self.folder, e))
    }

    /// Why the table would be empty.
    pub fn nothing_kept(&self, paths: &[PathBuf], lines: u64) -> Result<(), WeblogError> {
        if self.kept > 0 {
            return Ok(());
        }
        Err(match (lines, self.parsed) {
            (0, _) => WeblogError::Empty { files: names(paths) },
            (_, 0) => all_broken(paths, lines, &self.broken),
            (_, parsed) => {
                let reasons: Vec<String> = self.left_out.iter().map(|(why, n)| format!("{n} by {why}")).collect();
                WeblogError::NothingLeft { parsed, reasons: reasons.join(", ") }
            }
        })
    }
}
