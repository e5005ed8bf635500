//! Any bytes are a line or a broken line, never a panic; a line that parsed is read back the same after it was written;
//! whatever its target, the path made of it stays below the root of a content tree.

#![no_main]

use iojoule_trace::weblog::format::{unescape, write_line};
use iojoule_trace::weblog::is_static;
use iojoule_trace::weblog::line::Line;
use iojoule_trace::weblog::names::{Namer, Names};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(line) = Line::parse(bytes) else { return };
    let mut text = Vec::new();
    write_line(&line, &mut text);
    assert_eq!(Line::parse(&text), Ok(line));
    unescape(line.agent());
    let Some(request) = line.request_line() else { return };
    is_static(&request);
    for names in [Names::Hmac, Names::Sha1, Names::Plain] {
        let Some(path) = Namer::new(names, b"0123456789abcdef").path(request.target) else { continue };
        let (folder, file) = path.rsplit_once('/').expect("a path has a slash");
        assert!(path.starts_with('/') && !path.contains("//") && file.contains('.') && !folder.contains('.'), "{path}");
        assert!(path.bytes().all(|c| c.is_ascii_alphanumeric() || b"/._-~+".contains(&c)), "{path}");
    }
});
