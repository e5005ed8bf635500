//! The server behind a synthetic log: its objects, and what it answers to a client in the middle of a session.

use std::f64::consts::TAU;

use rand_xoshiro::Xoshiro256PlusPlus;

use super::spread::uniform;
use super::time::Stamp;

/// Extensions and their shares; sums to 1. An empty one is a directory.
const KINDS: [(&str, f64); 9] = [
    ("", 0.05),
    (".html", 0.27),
    (".gif", 0.15),
    (".jpg", 0.22),
    (".png", 0.13),
    (".css", 0.04),
    (".js", 0.07),
    (".pdf", 0.05),
    (".zip", 0.02),
];
/// Body of the sizes: lognormal. Tail: Pareto from `TAIL_FROM`. Barford & Crovella, SIGMETRICS 1998, table 1.
const MU: f64 = 9.357;
const SIGMA: f64 = 1.318;
const TAIL_FROM: f64 = 133_000.0;
const TAIL_ALPHA: f64 = 1.1;
const TAIL_SHARE: f64 = 0.07;
/// Nothing larger is served: one draw of a Pareto tail can be any size.
const LARGEST: f64 = 64.0 * 1024.0 * 1024.0;

/// What the server does other than answer 200: unchanged, gone, failed; and requests that are not GET.
const UNCHANGED: f64 = 0.08;
const GONE: f64 = 0.01;
const FAILED: f64 = 0.001;
const HEAD: f64 = 0.004;
const POST: f64 = 0.006;

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/604.1",
    "Mozilla/5.0 (compatible; examplebot/1.0)",
];

/// One client's visit.
pub(crate) struct Session {
    client: u32,
    referer: Option<u32>,
}

impl Session {
    pub fn new(client: u32) -> Self {
        Self { client, referer: None }
    }
}

/// Objects by number: kind and size.
pub(crate) struct Site {
    objects: Vec<(u8, u64)>,
}

impl Site {
    pub fn new(objects: u32, random: &mut Xoshiro256PlusPlus) -> Self {
        Self { objects: (0..objects).map(|_| (kind(random), size(random))).collect() }
    }

    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|(_, size)| size).sum()
    }

    /// Appends the line of one request; returns the bytes answered.
    pub fn answer(
        &self,
        session: &mut Session,
        object: u32,
        time: Stamp,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) -> u64 {
        let (method, status, size) = self.outcome(object, random);
        let size_text = if status == 304 { "-".into() } else { size.to_string() };
        let referer = session.referer.map_or("-".into(), |page| format!("http://www.example.org{}", self.path(page)));
        let client = session.client;
        // A private block: nobody's address.
        let host = format!("10.{}.{}.{}", client >> 16 & 255, client >> 8 & 255, client & 255);
        let agent = if client % 40 == 39 { AGENTS[3] } else { AGENTS[client as usize % 3] };
        let path = self.path(object);
        out.extend_from_slice(
            format!(
                "{host} - - [{}] \"{method} {path} HTTP/1.1\" {status} {size_text} \"{referer}\" \"{agent}\"\n",
                time.format()
            )
            .as_bytes(),
        );
        if self.objects[object as usize].0 <= 1 {
            session.referer = Some(object);
        }
        if status == 304 { 0 } else { size }
    }

    fn outcome(&self, object: u32, random: &mut Xoshiro256PlusPlus) -> (&'static str, u16, u64) {
        let size = self.objects[object as usize].1;
        let mut dice = uniform(random);
        let mut falls = |share: f64| {
            dice -= share;
            dice < 0.0
        };
        match () {
            () if falls(UNCHANGED) => ("GET", 304, 0),
            () if falls(GONE) => ("GET", 404, 196),
            () if falls(FAILED) => ("GET", 500, 612),
            () if falls(HEAD) => ("HEAD", 200, 0),
            () if falls(POST) => ("POST", 200, 48),
            () => ("GET", 200, size),
        }
    }

    fn path(&self, object: u32) -> String {
        let extension = KINDS[usize::from(self.objects[object as usize].0)].0;
        match extension {
            "" => format!("/d{:02}/o{object}/", object % 40),
            extension => format!("/d{:02}/o{object}{extension}", object % 40),
        }
    }
}

fn kind(random: &mut Xoshiro256PlusPlus) -> u8 {
    let mut dice = uniform(random);
    let place = KINDS.iter().position(|(_, share)| {
        dice -= share;
        dice < 0.0
    });
    place.unwrap_or(1) as u8
}

fn size(random: &mut Xoshiro256PlusPlus) -> u64 {
    let size = if uniform(random) < TAIL_SHARE {
        TAIL_FROM * (1.0 - uniform(random)).powf(-1.0 / TAIL_ALPHA)
    } else {
        // Box & Muller; the body ends where the tail begins.
        let normal = (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (TAU * uniform(random)).cos();
        (MU + SIGMA * normal).exp().min(TAIL_FROM)
    };
    size.clamp(1.0, LARGEST) as u64
}
