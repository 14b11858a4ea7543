//! A scientist's whole way: from a spreadsheet with gaps to effects, a proposal with reasons, a form that a spreadsheet
//! opened and saved, recorded results, and a report.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn run(folder: &Path, line: &str) -> (String, String) {
    let words = line.split_whitespace();
    let output = Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(folder)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{line}: {told}");
    (String::from_utf8(output.stdout).unwrap(), told)
}

/// A table of ours as a spreadsheet in Berlin or Paris saves it: semicolons, decimal commas, Windows line ends.
fn european(text: &str) -> String {
    let cell = |cell: &str| match cell.parse::<f64>() {
        Ok(_) => cell.replace('.', ","),
        Err(_) if cell.contains(';') => format!("\"{cell}\""),
        Err(_) => cell.to_string(),
    };
    let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(";") + "\r\n";
    text.lines().map(line).collect()
}

#[test]
fn from_a_spreadsheet_to_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let world = "simulate er --nodes 4 --mechanism linear --noise-sd 0.5 --seed 3 --n 80 --out data.csv --save-scm world.json";
    run(folder, world);
    // Samples have names, and three values were not determined.
    let data = fs::read_to_string(folder.join("data.csv")).unwrap();
    let mut plate = String::new();
    for (k, line) in european(&data).lines().enumerate() {
        let (first, rest) = line.split_once(';').unwrap();
        plate += &match k {
            0 => format!("Probe;{line}\r\n"),
            5 | 9 => format!("P{k};n.d.;{rest}\r\n"),
            12 => format!("P{k};<0,1;{rest}\r\n"),
            _ => format!("P{k};{first};{rest}\r\n"),
        };
    }
    fs::write(folder.join("plate.csv"), plate).unwrap();

    let fit = "fit plate.csv --ignore Probe --posterior mcmc-linear --draws 40 --out belief.npz";
    let (_, told) = run(folder, fit);
    assert!(told.contains("note: plate.csv is read with semicolons between cells, decimal commas"), "{told}");
    assert!(told.contains("3 of 80 rows are set aside"), "{told}");
    let (effects, _) = run(folder, "effects belief.npz");
    assert!(effects.contains(" -> ") && effects.contains("90 % interval"), "{effects}");
    let (predicted, _) = run(folder, "predict belief.npz --do X1=0.5");
    assert!(predicted.starts_with("do(X1 = 0.5)\n"), "{predicted}");

    run(folder, "lab new c.lab --from plate.csv --ignore Probe");
    run(folder, "lab new c.lab --variables c.toml");
    let (added, told) = run(folder, "lab add c.lab plate.csv");
    assert!(added.contains("added 80 rows") && added.contains("3 with missing values are kept"), "{added}");
    assert!(told.contains("1 values are censored, like \"<0,1\""), "{told}");
    let propose = "lab propose c.lab --batch 3 --posterior mcmc-linear --set posterior.draws=40 --set design.samples=20 --out form.xlsx";
    let (proposed, _) = run(folder, propose);
    let reasons = ["decides", "makes clearer", "no single edge would become clear"];
    assert!(reasons.iter().any(|reason| proposed.contains(reason)), "{proposed}");
    assert!(proposed.contains("expected wrong edges"), "{proposed}");

    // A spreadsheet opens and saves the form; the bench fills it in; the spreadsheet saves it again.
    let saved = |file: &str| {
        let words = ["--headless", "--convert-to", "xlsx", "--outdir", "saved", file];
        let office = Command::new("soffice").args(words).current_dir(folder).output();
        office.is_ok_and(|output| output.status.success()) && folder.join("saved").exists()
    };
    let office = saved("form.xlsx");
    let opened = if office { "saved/form.xlsx" } else { "form.xlsx" };
    run(folder, &format!("lab rehearse {opened} --scm world.json --out filled.csv"));
    let filled = fs::read_to_string(folder.join("filled.csv")).unwrap();
    let form = if office && saved("filled.csv") {
        "saved/filled.xlsx"
    } else {
        // Not by a macro whose output is kept from who runs the tests.
        let notice =
            "said instead of done: there is no LibreOffice here, so the form is saved as one would save it";
        let _ = writeln!(std::io::stderr(), "{notice}");
        fs::write(folder.join("gefüllt.csv"), european(&filled)).unwrap();
        "gefüllt.csv"
    };
    let (recorded, _) = run(folder, &format!("lab record c.lab {form}"));
    assert!(recorded.ends_with(": 3 done\n"), "{recorded}");
    // It is what the bench measured, to the last bit; LibreOffice may round the last digits.
    if form != "saved/filled.xlsx" {
        let (again, _) = run(folder, "lab record c.lab filled.csv");
        assert!(again.contains("nothing new (3 already known"), "{again}");
    }

    let (status, _) = run(folder, "lab status c.lab --fit");
    assert!(status.contains("effects of setting a variable"), "{status}");
    run(folder, "lab report c.lab");
    let page = fs::read_to_string(folder.join("c.html")).unwrap();
    for words in ["This campaign asks which of 4 variables", "Effects", "Timeline", "Glossary", "E001"] {
        assert!(page.contains(words), "{words}");
    }
}
