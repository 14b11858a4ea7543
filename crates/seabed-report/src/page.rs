//! The page: a sequence of sections, self-contained.

use crate::model::{RunView, Study};
use crate::style::page_rules;
use crate::svg::{FIGURE_HEAD, escape};
use crate::{run, study, words};

/// A part of a page.
#[derive(Clone, Copy, Debug)]
pub enum Section<'a> {
    /// Strategies compared.
    Study(&'a Study),
    /// One run in detail.
    Run(&'a RunView),
    /// A paragraph, as plain text.
    Text(&'a str),
}

/// How every page begins, those of earlier versions too.
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// The only script that a page may run: it offers the figures as files.
const SCRIPT: &str = include_str!("save.js");

/// What the browser compares the script with, `openssl dgst -sha256 -binary save.js | base64`: one that was changed does not run.
const SCRIPT_HASH: &str = "sha256-xnttEQq85FH7vPofehEUairnfMCfgqZwlJVta/4MVAQ=";

/// Is this text a page or a figure as made here?
pub fn is_report(text: &str) -> bool {
    text.starts_with(HEAD) || text.starts_with(FIGURE_HEAD)
}

/// One self-contained HTML document: the browser is told to load nothing, and to run nothing but what offers the figures as
/// files. Everything can be read without it.
pub fn page(title: &str, sections: &[Section<'_>]) -> String {
    let part = |section: &Section<'_>| match section {
        Section::Study(study) => study::section(study),
        Section::Run(run) => run::section(run, title),
        Section::Text(text) => format!("<p>{}</p>\n", escape(text)),
    };
    let mut body: String = sections.iter().map(part).collect();
    let glossary = words::glossary(&body);
    run::texts(&mut body, &glossary);
    let title = escape(title);
    let rules = page_rules();
    // An empty icon keeps the browser from requesting one.
    format!(
        "{HEAD}; script-src '{SCRIPT_HASH}'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{rules}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}
