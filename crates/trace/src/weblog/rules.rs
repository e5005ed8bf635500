//! What is cut out of a log before it is replayed: named hosts, agents, paths and statuses; robots; attacks.
//! Robots and attackers are known by all they did, so these two rules read the log once more beforehand.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::WeblogError;
use super::distinct::{ByHash, hash};
use super::line::Line;

/// Agents that name themselves; matched anywhere, in any case.
const ROBOTS: &[&str] = &["bot", "crawler", "spider", "slurp", "archiver", "feedfetcher", "mediapartners"];
/// Agents of vulnerability scanners.
const SCANNERS: &[&str] = &[
    "masscan",
    "zgrab",
    "nmap",
    "nikto",
    "sqlmap",
    "nuclei",
    "dirbuster",
    "gobuster",
    "wpscan",
    "acunetix",
    "netsparker",
    "l9explore",
    "l9tcpid",
];
/// Pieces of targets that only a scan asks for.
const PROBES: &[&str] = &[
    "../",
    "..\\",
    "%2e%2e",
    "/etc/passwd",
    "/.env",
    "/.git/",
    "/.aws/",
    "/.ssh/",
    "wp-login",
    "xmlrpc.php",
    "phpmyadmin",
    "/boaform",
    "cmd.exe",
    "root.exe",
    "default.ida",
    "jndi:",
    "<script",
    "%3cscript",
    "union+select",
    "union%20select",
    "vendor/phpunit",
    "/hnap1",
    "/actuator/",
    "cgi-bin/luci",
    "/bin/sh",
    "eval-stdin",
    "/setup.cgi",
    "allow_url_include",
];
/// A host with at least this many requests, more than half of them refused, is taken for a scanner.
const SCAN_REQUESTS: u32 = 20;

/// What to cut, taken apart.
#[derive(Clone, Debug, Default)]
struct Exclude {
    hosts: HashSet<u64, ByHash>,
    agents: Vec<String>,
    paths: Vec<String>,
    statuses: Vec<u16>,
    robots: bool,
    attacks: bool,
}

/// The cut rules, ready to be asked line by line.
pub struct Rules {
    exclude: Exclude,
    hosts: HashMap<u64, Host, ByHash>,
}

#[derive(Clone, Copy, Default)]
struct Host {
    requests: u32,
    refused: u32,
    robot: bool,
}

impl Rules {
    /// Each rule is one of
    /// - `robots`: agents that name themselves robots, and every host that asked for `/robots.txt`;
    /// - `attacks`: requests of scanners, and every host with 20 or more requests of which more than half were answered
    ///   400, 403, 404 or 405;
    /// - `host=NAME`, `agent=PART` (anywhere, in any case), `path=START` of the target, `status=CODE`.
    pub fn new(rules: &[String]) -> Result<Self, WeblogError> {
        let mut exclude = Exclude::default();
        for rule in rules {
            match rule.split_once('=') {
                None if rule == "robots" => exclude.robots = true,
                None if rule == "attacks" => exclude.attacks = true,
                Some(("host", host)) if !host.is_empty() => {
                    exclude.hosts.insert(hash(host.as_bytes()));
                }
                Some(("agent", part)) if !part.is_empty() => exclude.agents.push(part.to_ascii_lowercase()),
                Some(("path", start)) if !start.is_empty() => exclude.paths.push(start.to_owned()),
                Some(("status", code)) if code.parse::<u16>().is_ok() => exclude.statuses.extend(code.parse::<u16>()),
                _ => {
                    let known = "robots, attacks, host=NAME, agent=PART, path=START, status=CODE";
                    return Err(WeblogError::Option(format!("cut: {rule:?} is not a rule; rules are {known}")));
                }
            }
        }
        Ok(Self { exclude, hosts: HashMap::default() })
    }

    /// Whether [`Rules::learn`] must see every line before [`Rules::cut`] is asked.
    pub fn must_learn(&self) -> bool {
        self.exclude.robots || self.exclude.attacks
    }

    pub fn learn(&mut self, line: &Line<'_>) {
        let host = self.hosts.entry(hash(line.host)).or_default();
        host.requests = host.requests.saturating_add(1);
        host.refused += u32::from(matches!(line.status, 400 | 403 | 404 | 405));
        host.robot |= line.request_line().is_some_and(|r| r.target == b"/robots.txt");
    }

    /// The rule that cuts this line.
    pub fn cut(&self, line: &Line<'_>) -> Option<&'static str> {
        let exclude = &self.exclude;
        let target = line.request_line().map_or(line.request, |r| r.target);
        if exclude.hosts.contains(&hash(line.host)) {
            return Some("host");
        }
        if exclude.statuses.contains(&line.status) {
            return Some("status");
        }
        if exclude.paths.iter().any(|path| target.starts_with(path.as_bytes())) {
            return Some("path");
        }
        if !exclude.agents.is_empty() && holds_one_of(line.agent(), exclude.agents.iter().map(String::as_str)) {
            return Some("agent");
        }
        let host = self.hosts.get(&hash(line.host)).copied().unwrap_or_default();
        if exclude.attacks {
            let scans = host.requests >= SCAN_REQUESTS && host.refused > host.requests / 2;
            if scans
                || holds_one_of(target, PROBES.iter().copied())
                || holds_one_of(line.agent(), SCANNERS.iter().copied())
            {
                return Some("attack");
            }
        }
        if exclude.robots && (host.robot || holds_one_of(line.agent(), ROBOTS.iter().copied())) {
            return Some("robot");
        }
        None
    }
}

fn holds_one_of<'a>(text: &[u8], mut parts: impl Iterator<Item = &'a str>) -> bool {
    let lower = text.to_ascii_lowercase();
    parts.any(|part| memmem::find(&lower, part.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str, target: &str, status: u16, agent: &str) -> String {
        format!(r#"{host} - - [17/May/2024:07:28:48 +0000] "GET {target} HTTP/1.1" {status} 9 "-" "{agent}""#)
    }

    fn cuts(rules: &[&str], lines: &[String]) -> Vec<Option<&'static str>> {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let mut rules = Rules::new(&rules).unwrap();
        let lines: Vec<_> = lines.iter().map(|l| Line::parse(l.as_bytes()).unwrap()).collect();
        lines.iter().for_each(|line| rules.learn(line));
        lines.iter().map(|line| rules.cut(line)).collect()
    }

    #[test]
    fn a_host_that_asked_for_robots_txt_is_a_robot_in_all_its_lines() {
        let lines = [
            line("a", "/x.html", 200, "Mozilla"),
            line("a", "/robots.txt", 200, "Mozilla"),
            line("b", "/x.html", 200, "Googlebot/2.1"),
            line("c", "/x.html", 200, "Mozilla"),
        ];
        assert_eq!(cuts(&["robots"], &lines), [Some("robot"), Some("robot"), Some("robot"), None]);
    }

    #[test]
    fn a_scan_is_cut_by_what_it_asks_for_and_by_how_often_it_is_refused() {
        let mut lines =
            vec![line("a", "/.env", 404, "x"), line("b", "/ok.html", 200, "zgrab/0.x"), line("c", "/", 200, "x")];
        lines.extend((0..30).map(|i| line("d", &format!("/guess{i}"), if i % 3 == 0 { 200 } else { 404 }, "x")));
        let cut = cuts(&["attacks"], &lines);
        assert_eq!(cut[..3], [Some("attack"), Some("attack"), None]);
        assert!(cut[3..].iter().all(|c| *c == Some("attack")));
    }

    #[test]
    fn named_hosts_agents_paths_and_statuses_are_cut() {
        let rules = ["host=a", "agent=CURL", "path=/private/", "status=500"];
        let lines = [
            line("a", "/", 200, "x"),
            line("b", "/", 200, "curl/7"),
            line("b", "/private/x", 200, "x"),
            line("b", "/", 500, "x"),
            line("b", "/", 200, "x"),
        ];
        assert_eq!(cuts(&rules, &lines), [Some("host"), Some("agent"), Some("path"), Some("status"), None]);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_rules_there_are() {
        for rule in ["robot", "host=", "status=abc", "size=3", ""] {
            let error = Rules::new(&[rule.to_owned()]).err().unwrap().to_string();
            assert!(error.contains("robots, attacks, host=NAME"), "{error}");
        }
    }
}
