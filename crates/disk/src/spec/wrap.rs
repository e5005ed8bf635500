//! Long arrays of a TOML text broken over lines, for people who read presets.

/// Characters of a line.
const WIDTH: usize = 110;

/// The same TOML with arrays broken between elements.
pub(super) fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 50);
    for line in text.lines() {
        let array =
            line.split_once(" = [").filter(|_| line.len() > WIDTH && line.ends_with(']') && !line.contains('"'));
        match array {
            Some((key, rest)) => {
                out.push_str(key);
                out.push_str(" = [");
                let elements = &rest[..rest.len() - 1];
                let nested = elements.starts_with('[');
                let mut length = WIDTH;
                for element in elements.split_inclusive(if nested { "], " } else { ", " }) {
                    if length + element.len() > WIDTH {
                        out.truncate(out.trim_end_matches(' ').len());
                        out.push_str("\n    ");
                        length = 4;
                    }
                    out.push_str(element);
                    length += element.len();
                }
                out.push_str("\n]");
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}
