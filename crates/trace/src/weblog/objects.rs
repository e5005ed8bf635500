//! What was requested: distinct paths, numbered as they come, and the size the file of each is given.

use std::collections::{BTreeMap, HashMap};

use super::distinct::{ByHash, hash};
use super::names::Namer;

/// Size of a file where the log says nothing at all: the 8.7 KB mean of the http_load scenario.
pub const DEFAULT_SIZE: u64 = 8700;

/// One object and what the log says of its size.
pub(crate) struct Object {
    pub path: String,
    /// Largest answer with status 200 to a GET.
    logged: Option<u64>,
}

impl Object {
    /// Path below the root of a content tree.
    pub fn file(&self) -> &str {
        self.path.trim_start_matches('/')
    }

    fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

/// The objects of a log; grows with their number, not with the log.
pub(crate) struct Objects {
    namer: Namer,
    by_target: HashMap<u64, Option<u32>, ByHash>,
    by_path: HashMap<String, u32>,
    pub list: Vec<Object>,
}

impl Objects {
    pub fn new(namer: Namer) -> Self {
        Self { namer, by_target: HashMap::default(), by_path: HashMap::new(), list: Vec::new() }
    }

    /// The number of the object that `target` names; `None` where it is no path of this server.
    pub fn number(&mut self, target: &[u8]) -> Option<u32> {
        let key = hash(target);
        if let Some(&known) = self.by_target.get(&key) {
            return known;
        }
        // Several spellings can be one path, `/a` and `//a`.
        let number = self.namer.path(target).map(|path| match self.by_path.get(&path) {
            Some(&number) => number,
            None => {
                let number = self.list.len() as u32;
                self.by_path.insert(path.clone(), number);
                self.list.push(Object { path, logged: None });
                number
            }
        });
        self.by_target.insert(key, number);
        number
    }

    pub fn answered(&mut self, object: u32, size: u64) {
        let logged = &mut self.list[object as usize].logged;
        *logged = Some(logged.unwrap_or(0).max(size));
    }

    /// Size and the rule it follows from, for every object: `logged`; else the median of the logged sizes with the same
    /// extension; else the median of all; else [`DEFAULT_SIZE`].
    pub fn sizes(&self) -> Vec<(u64, &'static str)> {
        let mut by_extension: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut all = Vec::new();
        for object in &self.list {
            if let Some(size) = object.logged {
                by_extension.entry(object.extension()).or_default().push(size);
                all.push(size);
            }
        }
        let of_extension: BTreeMap<&str, u64> =
            by_extension.into_iter().filter_map(|(extension, sizes)| Some((extension, median(sizes)?))).collect();
        let of_all = median(all);
        let size = |object: &Object| match (object.logged, of_extension.get(object.extension()), of_all) {
            (Some(size), _, _) => (size, "logged"),
            (None, Some(&size), _) => (size, "median_ext"),
            (None, None, Some(size)) => (size, "median_all"),
            (None, None, None) => (DEFAULT_SIZE, "default"),
        };
        self.list.iter().map(size).collect()
    }
}

/// The lower median.
fn median(mut sizes: Vec<u64>) -> Option<u64> {
    let middle = sizes.len().checked_sub(1)? / 2;
    Some(*sizes.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::*;

    #[test]
    fn sizes_follow_the_stated_rules() {
        let mut objects = Objects::new(Namer::new(Names::Plain, b""));
        let mut answer = |target: &str, sizes: &[u64]| {
            let number = objects.number(target.as_bytes()).unwrap();
            sizes.iter().for_each(|&size| objects.answered(number, size));
        };
        answer("/a.gif", &[100, 300, 200]);
        answer("/b.gif", &[500]);
        answer("/c.gif", &[700]);
        answer("/d.gif", &[]);
        answer("/e.pdf", &[]);
        answer("//a.gif", &[]);
        let sizes = objects.sizes();
        assert_eq!(
            sizes,
            [(300, "logged"), (500, "logged"), (700, "logged"), (500, "median_ext"), (500, "median_all")]
        );
        let mut empty = Objects::new(Namer::new(Names::Plain, b""));
        empty.number(b"/");
        assert_eq!(empty.sizes(), [(8700, "default")]);
    }
}
