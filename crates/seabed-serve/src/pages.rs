//! The pages, as they are compiled into the program: nothing is loaded from anywhere else.

/// A part of the pages: its path, its type, its content.
pub type Part = (&'static str, &'static str, &'static [u8]);

/// A part at the address of its name.
macro_rules! part {
    ($name:literal, $content_type:expr) => {
        (concat!("/", $name), $content_type, include_bytes!(concat!("../pages/", $name)))
    };
}

const PAGE: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// All parts.
pub const PARTS: &[Part] = &[
    ("/", PAGE, include_bytes!("../pages/index.html")),
    part!("api.js", SCRIPT),
    part!("app.js", SCRIPT),
    part!("belief.js", SCRIPT),
    part!("campaign.js", SCRIPT),
    part!("create.js", SCRIPT),
    part!("data.js", SCRIPT),
    part!("dom.js", SCRIPT),
    part!("edge.js", SCRIPT),
    part!("figures.js", SCRIPT),
    part!("graph.js", SCRIPT),
    part!("history.js", SCRIPT),
    part!("icon.svg", IMAGE),
    part!("knowledge.js", SCRIPT),
    part!("order.js", SCRIPT),
    part!("paste.js", SCRIPT),
    part!("preview.js", SCRIPT),
    part!("progress.js", SCRIPT),
    part!("propose.js", SCRIPT),
    part!("report.js", SCRIPT),
    part!("results.js", SCRIPT),
    part!("start.js", SCRIPT),
    part!("style.css", STYLE),
];

/// Goes on to the pages without the token in the address.
pub const GO_ON: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"refresh\" content=\"0; url=/\">\n<title>seabed</title>\n</head>\n<body>\n<p><a href=\"/\">Go on</a></p>\n\
    </body>\n</html>\n";

/// What a server with a password shows to who has not given it yet.
pub const LOGIN: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>seabed</title>\n</head>\n<body>\n<main>\n\
    <h1>seabed</h1>\n<form method=\"post\" action=\"/login\">\n<label>Password <input type=\"password\" name=\"password\" \
    autocomplete=\"current-password\" required autofocus></label>\n<button>Open</button>\n</form>\n</main>\n</body>\n</html>\n";

/// What a server without a password shows to who comes without the token.
pub const NO_TOKEN: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>seabed</title>\n</head>\n<body>\n<main>\n\
    <h1>seabed</h1>\n<p>Open the address that <code>seabed serve</code> printed: it holds the token that this page needs.</p>\n\
    </main>\n</body>\n</html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_pages_is_a_part() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("pages");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("/{}", entry.unwrap().file_name().to_string_lossy()))
            .map(|name| if name == "/index.html" { "/".into() } else { name })
            .collect();
        files.sort();
        let mut parts: Vec<&str> = PARTS.iter().map(|(path, ..)| *path).collect();
        parts.sort_unstable();
        assert_eq!(parts, files);
    }
}
