//! Typed access to a block's keys. Every key must be asked for or set aside by name: one that is not is an error.

use std::ops::RangeInclusive;

use super::syntax::{Block, Key, Value};
use super::token::{At, Text};
use crate::DiskError;

/// A key that was understood and has no effect here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    pub file: String,
    pub line: usize,
    pub key: String,
    pub why: &'static str,
    /// It asks for something that DiskSim does and this model does not: a run may come out otherwise.
    pub matters: bool,
}

pub(super) struct Fields<'a> {
    pub text: &'a Text<'a>,
    block: &'a Block,
    asked: Vec<bool>,
}

impl<'a> Fields<'a> {
    pub fn new(text: &'a Text, block: &'a Block) -> Result<Self, DiskError> {
        for (i, key) in block.keys.iter().enumerate() {
            if block.keys[..i].iter().any(|other| other.name == key.name) {
                return Err(text.error(key.at, format!("`{}` is given twice", key.name)));
            }
        }
        Ok(Self { text, block, asked: vec![false; block.keys.len()] })
    }

    pub fn maybe(&mut self, name: &str) -> Option<&'a Key> {
        let i = self.block.keys.iter().position(|key| key.name == name)?;
        self.asked[i] = true;
        Some(&self.block.keys[i])
    }

    pub fn need(&mut self, name: &str) -> Result<&'a Key, DiskError> {
        let missing = format!("{} has no `{name}`", self.block.kind);
        self.maybe(name).ok_or_else(|| self.text.error(self.block.at, missing))
    }

    /// The refusal of a key's value.
    pub fn refuse(&self, key: &Key, why: &str) -> DiskError {
        let value = match &key.value {
            Value::Number(n) => n.to_string(),
            Value::Word(word) => word.clone(),
            Value::List(_) => "[ … ]".into(),
            Value::Block(block) => format!("{} {{ … }}", block.kind),
            Value::Node(node) => format!("{} {} [ … ]", node.kind, node.name),
        };
        self.text.error(key.at, format!("`{}` = {value}: {why}", key.name))
    }

    fn in_range(&self, key: &Key, least: f64, most: f64) -> Result<f64, DiskError> {
        match key.value {
            Value::Number(n) if n >= least && n <= most => Ok(n),
            Value::Number(_) => Err(self.refuse(key, &format!("must be from {least} to {most}"))),
            _ => Err(self.refuse(key, "must be a number")),
        }
    }

    pub fn number(&mut self, name: &str, least: f64, most: f64) -> Result<f64, DiskError> {
        let key = self.need(name)?;
        self.in_range(key, least, most)
    }

    pub fn maybe_number(&mut self, name: &str, least: f64, most: f64) -> Result<Option<f64>, DiskError> {
        self.maybe(name).map(|key| self.in_range(key, least, most)).transpose()
    }

    /// A time in ms: at least 0, at most 100 s.
    pub fn ms(&mut self, name: &str) -> Result<f64, DiskError> {
        self.number(name, 0.0, 1e5)
    }

    pub fn whole(&mut self, name: &str, least: u32, most: u32) -> Result<u32, DiskError> {
        let key = self.need(name)?;
        let n = self.in_range(key, f64::from(least), f64::from(most))?;
        if n.fract() == 0.0 { Ok(n as u32) } else { Err(self.refuse(key, "must be a whole number")) }
    }

    pub fn flag(&mut self, name: &str) -> Result<bool, DiskError> {
        Ok(self.whole(name, 0, 1)? == 1)
    }

    /// One of the choices, by number from 0.
    pub fn choice<T: Copy>(&mut self, name: &str, choices: &[T]) -> Result<T, DiskError> {
        Ok(choices[self.whole(name, 0, choices.len() as u32 - 1)? as usize])
    }

    /// One of the choices, by word.
    pub fn one_of<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<T, DiskError> {
        let key = self.need(name)?;
        let Value::Word(word) = &key.value else { return Err(self.refuse(key, "must be a word")) };
        let known = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let found = choices.iter().find(|(choice, _)| choice == word);
        found.map(|(_, value)| *value).ok_or_else(|| self.refuse(key, &format!("must be one of {}", known())))
    }

    pub fn word(&mut self, name: &str) -> Result<(&'a str, At), DiskError> {
        let key = self.need(name)?;
        match &key.value {
            Value::Word(word) => Ok((word, key.at)),
            _ => Err(self.refuse(key, "must be a name")),
        }
    }

    pub fn list(&mut self, name: &str) -> Result<&'a [(Value, At)], DiskError> {
        let key = self.need(name)?;
        match &key.value {
            Value::List(items) => Ok(items),
            _ => Err(self.refuse(key, "must be a list")),
        }
    }

    pub fn words(&mut self, name: &str) -> Result<Vec<String>, DiskError> {
        let word = |(value, at): &(Value, At)| match value {
            Value::Word(word) => Ok(word.clone()),
            _ => Err(self.text.error(*at, format!("`{name}` is a list of names"))),
        };
        self.list(name)?.iter().map(word).collect()
    }

    pub fn numbers(&mut self, name: &str) -> Result<Vec<f64>, DiskError> {
        let number = |(value, at): &(Value, At)| match value {
            Value::Number(n) => Ok(*n),
            _ => Err(self.text.error(*at, format!("`{name}` is a list of numbers"))),
        };
        self.list(name)?.iter().map(number).collect()
    }

    /// The block of a key, which must be of the given kind.
    pub fn block(&mut self, name: &str, kind: &str) -> Result<&'a Block, DiskError> {
        let key = self.need(name)?;
        match &key.value {
            Value::Block(block) if block.kind == kind => Ok(block),
            _ => Err(self.refuse(key, &format!("only a `{kind}` block is understood"))),
        }
    }

    /// Sets keys aside that may be there and have no effect.
    pub fn set_aside(&mut self, names: &[&str], why: &'static str, unused: &mut Vec<Unused>) {
        for name in names {
            if let Some(key) = self.maybe(name) {
                unused.push(self.unused(key, why));
            }
        }
    }

    pub fn unused(&self, key: &Key, why: &'static str) -> Unused {
        let (file, line) = self.text.name(key.at);
        Unused { file, line, key: key.name.clone(), why, matters: false }
    }

    /// Lists a key that asks for something beyond what is modelled.
    pub fn only_modelled(
        &mut self,
        name: &str,
        modelled: &RangeInclusive<f64>,
        why: &'static str,
        unused: &mut Vec<Unused>,
    ) {
        if let Some(key) = self.maybe(name)
            && !matches!(key.value, Value::Number(n) if modelled.contains(&n))
        {
            unused.push(Unused { matters: true, ..self.unused(key, why) });
        }
    }

    /// The end: a key that nobody asked for is not understood.
    pub fn finish(self) -> Result<(), DiskError> {
        let Some(i) = self.asked.iter().position(|asked| !asked) else { return Ok(()) };
        let key = &self.block.keys[i];
        Err(self.text.error(key.at, format!("`{}` is not a key of {} that is understood", key.name, self.block.kind)))
    }
}
