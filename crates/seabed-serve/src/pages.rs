//! The pages, as they are compiled into the program: nothing is loaded from anywhere else.

/// A part of the pages: its path, its type, its content.
pub type Part = (&'static str, &'static str, &'static [u8]);

/// All parts.
pub const PARTS: [Part; 3] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../pages/index.html")),
    ("/app.js", "text/javascript; charset=utf-8", include_bytes!("../pages/app.js")),
    ("/style.css", "text/css; charset=utf-8", include_bytes!("../pages/style.css")),
];

/// What a server with a password shows to who has not given it yet.
pub const LOGIN: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>seabed</title>\n</head>\n<body>\n<main>\n\
    <h1>seabed</h1>\n<form method=\"post\" action=\"/login\">\n<label>Password <input type=\"password\" name=\"password\" \
    autocomplete=\"current-password\" required autofocus></label>\n<button>Open</button>\n</form>\n</main>\n</body>\n</html>\n";

/// What a server without a password shows to who comes without the token.
pub const NO_TOKEN: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>seabed</title>\n</head>\n<body>\n<main>\n\
    <h1>seabed</h1>\n<p>Open the address that <code>seabed serve</code> printed: it holds the token that this page needs.</p>\n\
    </main>\n</body>\n</html>\n";
