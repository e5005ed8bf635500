//! Which requests a file can answer. The rule looks at the request alone: GET or HEAD, no query, and a last path
//! component that is empty (a directory, served by its index) or ends in the extension of a file format.

use super::line::RequestLine;

/// Extensions that servers answer from a file, in lower case, sorted.
const EXTENSIONS: &[&str] = &[
    "7z", "aac", "ai", "apk", "asc", "avi", "avif", "bin", "bmp", "bz2", "c", "class", "cpp", "css", "csv", "dat",
    "deb", "djvu", "dmg", "doc", "docx", "dvi", "dxf", "eot", "eps", "epub", "exe", "fits", "flac", "flv", "gif", "gz",
    "h", "hdf", "htm", "html", "ico", "img", "iso", "jar", "java", "jpe", "jpeg", "jpg", "js", "json", "kml", "kmz",
    "log", "m3u", "m4a", "m4v", "map", "md", "mid", "midi", "mjs", "mkv", "mov", "mp2", "mp3", "mp4", "mpeg", "mpg",
    "msi", "nc", "odp", "ods", "odt", "ogg", "ogv", "otf", "pbm", "pdf", "pgm", "png", "ppm", "ppt", "pptx", "ps",
    "py", "qt", "ra", "ram", "rar", "rm", "rpm", "rss", "rtf", "shtml", "svg", "svgz", "swf", "tar", "tex", "tgz",
    "tif", "tiff", "tsv", "ttf", "txt", "vrml", "wasm", "wav", "webm", "webp", "wmv", "woff", "woff2", "wrl", "xbm",
    "xhtml", "xls", "xlsx", "xml", "xpm", "xz", "yaml", "z", "zip", "zst",
];

/// Whether a static file can answer this request; the status of the answer does not matter.
pub fn is_static(request: &RequestLine<'_>) -> bool {
    why_not_static(request).is_none()
}

/// `method`, `query` or `extension`.
pub(crate) fn why_not_static(request: &RequestLine<'_>) -> Option<&'static str> {
    if !matches!(request.method, b"GET" | b"HEAD") {
        return Some("method");
    }
    let target = request.target;
    if memchr::memchr(b'?', target).is_some() {
        return Some("query");
    }
    let last = memchr::memrchr(b'/', target).map_or(target, |at| &target[at + 1..]);
    if last.is_empty() || known_extension(last).is_some() { None } else { Some("extension") }
}

/// The extension of a file name where it is one of a known file format, in lower case.
pub(crate) fn known_extension(name: &[u8]) -> Option<&'static str> {
    let dot = memchr::memrchr(b'.', name)?;
    let extension = &name[dot + 1..];
    if extension.len() > 5 {
        return None;
    }
    let mut lower = [0u8; 5];
    let lower = &mut lower[..extension.len()];
    lower.copy_from_slice(extension);
    lower.make_ascii_lowercase();
    EXTENSIONS.binary_search_by(|known| known.as_bytes().cmp(lower)).ok().map(|at| EXTENSIONS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(target: &str) -> bool {
        is_static(&RequestLine { method: b"GET", target: target.as_bytes(), version: b"HTTP/1.1" })
    }

    #[test]
    fn files_and_directories_are_static_programs_and_queries_are_not() {
        for target in ["/", "/a/", "/a.HTML", "/x/y.tar.gz", "/v1.2/p.jpg", "/my%20file.pdf"] {
            assert!(get(target), "{target}");
        }
        for target in ["/a.html?x=1", "/run.php", "/cgi-bin/x", "/about", "/x.htmlx", "/v1.2"] {
            assert!(!get(target), "{target}");
        }
        assert!(!is_static(&RequestLine { method: b"POST", target: b"/a.html", version: b"HTTP/1.1" }));
    }

    #[test]
    fn the_table_of_extensions_is_sorted_for_its_search() {
        assert!(EXTENSIONS.is_sorted());
    }
}
