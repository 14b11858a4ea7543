//! `seabed serve`: the laboratory in the browser.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use clap::Args;
use seabed_serve::{Options, start};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::progress::{interrupted, stop_on_interrupt};

/// Use a laboratory's campaigns in the browser.
///
/// Prints an address and opens it: everything from the first table to the report works there, on this computer and without
/// a network. Robots use the same address with the token as a bearer; GET /api/v1/openapi.json describes what they can ask
/// for. The command `seabed lab` may be used on the same file meanwhile. Fits and proposals go on when the page is closed,
/// and after the server was killed when it is started again. Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = "Examples:\n  seabed serve cells.lab\n  seabed serve campaigns/ --port 8765\n  \
seabed serve cells.lab --address 0.0.0.0 --password-file secret.txt --behind-proxy https://lab.example.org")]
pub struct Arguments {
    /// A campaign's file, which need not be there yet, or a folder of campaigns [default: this folder].
    place: Option<PathBuf>,
    /// The port [default: any that is free].
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// The address to listen to; any but that of this computer itself needs a password and --behind-proxy.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "IP")]
    address: IpAddr,
    /// A file with the password that people give [default: the environment variable SEABED_PASSWORD].
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The address that people use, of a reverse proxy that does TLS and passes requests on to this server.
    #[arg(long, value_name = "https://HOST")]
    behind_proxy: Option<String>,
    /// The largest file that can be sent, in MB.
    #[arg(long, default_value_t = 200, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    upload_limit: u32,
    /// Only print the address.
    #[arg(long)]
    no_open: bool,
    /// Print the address as JSON.
    #[arg(long)]
    json: bool,
}

/// How soon a signal is noticed.
const NOTICE: Duration = Duration::from_millis(100);

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let place = arguments.place.clone().unwrap_or_else(|| PathBuf::from("."));
    let options = Options {
        address: arguments.address,
        port: arguments.port,
        password: password(arguments)?,
        proxy: arguments.behind_proxy.as_ref().map(|proxy| proxy.trim_end_matches('/').to_string()),
        upload_limit: arguments.upload_limit as usize * 1_000_000,
        ..Options::new(place)
    };
    stop_on_interrupt();
    let running = start(&options)?;
    let address = running.address();
    let line = if arguments.json {
        json!({
            "address": address, "origin": running.origin(), "token": running.token(), "port": running.port(),
        })
        .to_string()
    } else {
        // Whoever sets up the proxy must know where to.
        let proxy = match arguments.behind_proxy {
            Some(_) => format!("It listens to port {} of {}.\n", running.port(), arguments.address),
            None => String::new(),
        };
        format!("{address}\n{proxy}Ctrl-C ends it.")
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| Failure::writing(None, error))?;
    drop(out);
    let _page = if arguments.no_open { None } else { opened(&address) };
    while !interrupted() {
        thread::sleep(NOTICE);
    }
    running.close().map_err(|error| Failure::Work(error.into()))
}

fn password(arguments: &Arguments) -> Result<Option<String>, Failure> {
    let Some(path) = &arguments.password_file else {
        return Ok(env::var("SEABED_PASSWORD").ok().filter(|password| !password.is_empty()));
    };
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::Input(anyhow::anyhow!("{}: {error}", path.display())))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_string()))
}

/// Opens the address in the browser, if there is one. The token must not stand in the list of processes, which all users of
/// this computer can see: the browser gets a page that only this user can read, and that goes on to the address.
fn opened(address: &str) -> Option<NamedTempFile> {
    let program = match env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    if program == "xdg-open" && !has_screen {
        return None;
    }
    let mut page = tempfile::Builder::new().prefix("seabed-").suffix(".html").tempfile().ok()?;
    let text = format!(
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}\"><title>seabed</title>"
    );
    page.write_all(text.as_bytes()).and_then(|()| page.flush()).ok()?;
    let mut command = Command::new(program);
    command.arg(page.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    thread::spawn(move || child.wait());
    Some(page)
}
