//! Ensembles in binary: an `.npz` archive, so that `numpy.load` opens it as it is.
//!
//! Members, for c draws over d variables:
//! - `header.json`: format name, version, names;
//! - `weights` [c], `adjacency` [c, d, d] (row -> column), `noise_sd` [c, d];
//! - `kind` [c, d] (0 linear, 1 mlp, 2 waves), `hidden` [c, d] (units of an mlp, or number of waves);
//! - `parameters` [total]: draw by draw, node by node, the numbers in the order of
//!   [`Mechanism::parameters`](super::Mechanism::parameters), weights by ascending parent;
//! - `graphs.json`, where a belief about graphs is saved along with the models, and `data.json`, the data in brief.
//!
//! The archive has a checksum of every member, which is compared when it is read.

use std::io::{Cursor, Read, Write};

use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::file::{ScmFileError, checked_names};
use super::{Ensemble, Linear, Mechanism, Mlp, Scm, Waves};
use crate::data::Names;
use crate::graph::{Dag, Node};

const FORMAT: &str = "seabed-ensemble";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    names: Vec<String>,
}

/// The archive as bytes, with two texts as members of their own: the same ensemble always gives the same bytes.
pub(super) fn ensemble_to_npz(
    ensemble: &Ensemble,
    graphs: Option<&str>,
    data: Option<&str>,
) -> zip::result::ZipResult<Vec<u8>> {
    let (draws, names) = (ensemble.draws(), ensemble.names());
    let (c, d) = (draws.len(), names.len());
    let header = Header { format: FORMAT.into(), version: VERSION, names: names.to_vec() };
    let header = serde_json::to_vec(&header).expect("strings have a JSON form");
    let nodes = || draws.iter().flat_map(|scm| (0..d).map(move |node| (scm, node)));
    let adjacency: Vec<u8> = draws
        .iter()
        .flat_map(|scm| (0..d * d).map(|cell| u8::from(scm.dag().has_edge(cell / d, cell % d))))
        .collect();
    let noise = nodes().flat_map(|(scm, node)| scm.noise_sd()[node].to_le_bytes()).collect();
    let kind = nodes().map(|(scm, node)| kind_number(scm.mechanism(node))).collect();
    let hidden =
        nodes().flat_map(|(scm, node)| (hidden_units(scm.mechanism(node)) as u32).to_le_bytes()).collect();
    let parameters: Vec<u8> =
        nodes().flat_map(|(scm, node)| scm.mechanism(node).parameters()).flat_map(f64::to_le_bytes).collect();
    let total = parameters.len() / size_of::<f64>();

    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    // A fixed time and no compression: equal ensembles are equal files.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    zip.start_file("header.json", options)?;
    zip.write_all(&header)?;
    let weights = ensemble.weights().iter().flat_map(|w| w.to_le_bytes()).collect();
    let members: [(&str, &str, Vec<usize>, Vec<u8>); 6] = [
        ("weights", "<f8", vec![c], weights),
        ("adjacency", "|b1", vec![c, d, d], adjacency),
        ("noise_sd", "<f8", vec![c, d], noise),
        ("kind", "|u1", vec![c, d], kind),
        ("hidden", "<u4", vec![c, d], hidden),
        ("parameters", "<f8", vec![total], parameters),
    ];
    for (name, kind, shape, bytes) in members {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&npy_header(kind, &shape))?;
        zip.write_all(&bytes)?;
    }
    for (name, text) in [("graphs.json", graphs), ("data.json", data)] {
        let Some(text) = text else { continue };
        zip.start_file(name, options)?;
        zip.write_all(text.as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

fn open<'a>(bytes: &'a [u8], source: &str) -> Result<Archive<'a>, ScmFileError> {
    ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(source, "archive", error.to_string()))
}

fn broken(source: &str, member: &str, problem: String) -> ScmFileError {
    ScmFileError::Part { file: source.into(), member: member.into(), problem }
}

/// The text of the member `part.json`, if the archive has it.
pub(super) fn part_of_npz(bytes: &[u8], part: &str, source: &str) -> Result<Option<Vec<u8>>, ScmFileError> {
    let mut zip = open(bytes, source)?;
    let name = format!("{part}.json");
    let there = zip.index_for_name(&name).is_some();
    there.then(|| member(&mut zip, bytes.len(), &name, source)).transpose()
}

fn member(zip: &mut Archive, size: usize, name: &str, source: &str) -> Result<Vec<u8>, ScmFileError> {
    let unreadable = |problem: String| broken(source, name, problem);
    let mut content = Vec::new();
    // Stored members cannot hold more than the file itself: a limit against forged sizes.
    let file = zip.by_name(name).map_err(|error| unreadable(error.to_string()))?;
    file.take(size as u64).read_to_end(&mut content).map_err(|error| unreadable(error.to_string()))?;
    Ok(content)
}

/// The ensemble of an archive; every inconsistency is an error that names the member.
pub(super) fn ensemble_from_npz(bytes: &[u8], source: &str) -> Result<Ensemble, ScmFileError> {
    let broken = |member: &str, problem: String| broken(source, member, problem);
    let mut zip = open(bytes, source)?;
    let mut member = |name: &str| member(&mut zip, bytes.len(), name, source);
    let header: Header = serde_json::from_slice(&member("header.json")?)
        .map_err(|reason| ScmFileError::Json { file: source.into(), reason })?;
    if header.format != FORMAT || header.version != VERSION {
        let found = format!("{} version {}", header.format, header.version);
        return Err(broken(
            "header.json",
            format!("it is {found}, this program reads {FORMAT} version {VERSION}"),
        ));
    }
    let names = checked_names(header.names, source)?;
    let d = names.len();
    let mut array =
        |name: &str, kind: &str, shape: &[Option<usize>]| -> Result<(usize, Vec<u8>), ScmFileError> {
            let file = format!("{name}.npy");
            npy_content(&member(&file)?, kind, shape).map_err(|problem| broken(&file, problem))
        };
    let (c, weights) = array("weights", "<f8", &[None])?;
    let (_, adjacency) = array("adjacency", "|b1", &[Some(c), Some(d), Some(d)])?;
    let (_, noise_sd) = array("noise_sd", "<f8", &[Some(c), Some(d)])?;
    let (_, kind) = array("kind", "|u1", &[Some(c), Some(d)])?;
    let (_, hidden) = array("hidden", "<u4", &[Some(c), Some(d)])?;
    let (_, parameters) = array("parameters", "<f8", &[None])?;

    let floats = |bytes: &[u8]| -> Vec<f64> {
        bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
    };
    let hidden: Vec<usize> =
        hidden.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes")) as usize).collect();
    let (noise_sd, parameters) = (floats(&noise_sd), floats(&parameters));
    let mut rest = parameters.as_slice();
    let mut draws = Vec::with_capacity(c);
    for draw in 0..c {
        let cells = &adjacency[draw * d * d..(draw + 1) * d * d];
        let edges = (0..d * d).filter(|&cell| cells[cell] != 0).map(|cell| (cell / d, cell % d));
        let dag = Dag::from_edges(d, edges).map_err(|error| {
            let cycle = error.cycle.iter().map(|&node| names[node].clone()).collect();
            ScmFileError::Cycle { file: source.into(), cycle }
        })?;
        let mechanisms: Option<Vec<Mechanism>> = (0..d)
            .map(|node| take_mechanism(&mut rest, kind[draw * d + node], hidden[draw * d + node], &dag, node))
            .collect();
        let mechanisms =
            mechanisms.ok_or_else(|| broken("parameters.npy", format!("draw {draw} does not fit")))?;
        let noise = noise_sd[draw * d..(draw + 1) * d].to_vec();
        let scm = Scm::new(Names::clone(&names), dag, mechanisms, noise)
            .and_then(Scm::computable)
            .map_err(|reason| ScmFileError::Model { file: source.into(), reason })?;
        draws.push(scm);
    }
    if !rest.is_empty() {
        return Err(broken("parameters.npy", format!("{} numbers are left over", rest.len())));
    }
    Ensemble::new(draws, floats(&weights))
        .map_err(|reason| ScmFileError::Ensemble { file: source.into(), reason })
}

fn kind_number(mechanism: &Mechanism) -> u8 {
    match mechanism {
        Mechanism::Linear(_) => 0,
        Mechanism::Mlp(_) => 1,
        Mechanism::Waves(_) => 2,
    }
}

fn hidden_units(mechanism: &Mechanism) -> usize {
    match mechanism {
        Mechanism::Linear(_) => 0,
        Mechanism::Mlp(mlp) => mlp.b1.len(),
        Mechanism::Waves(waves) => waves.phases.len(),
    }
}

/// Cuts one mechanism off the front of the parameters; None if there are too few or the kind is unknown.
fn take_mechanism(rest: &mut &[f64], kind: u8, hidden: usize, dag: &Dag, node: Node) -> Option<Mechanism> {
    let parents = dag.parents(node).len();
    let mut take = |count: usize| -> Option<Vec<f64>> {
        let (front, back) = rest.split_at_checked(count)?;
        *rest = back;
        Some(front.to_vec())
    };
    match kind {
        0 => Some(Mechanism::Linear(Linear { weights: take(parents)?, intercept: take(1)?[0] })),
        1 => Some(Mechanism::Mlp(Mlp {
            w1: take(parents.checked_mul(hidden)?)?,
            b1: take(hidden)?,
            w2: take(hidden)?,
            b2: take(1)?[0],
        })),
        2 => Some(Mechanism::Waves(Waves {
            weights: take(parents)?,
            frequencies: take(parents.checked_mul(hidden)?)?,
            phases: take(hidden)?,
            amplitudes: take(hidden)?,
            intercept: take(1)?[0],
        })),
        _ => None,
    }
}

/// Version 1.0 of numpy's array header, padded so that the numbers start at a multiple of 64 bytes.
fn npy_header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let shape = shape.trim_end();
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    header
}

/// First dimension and raw content of an array of the given kind; `None` leaves a dimension open.
fn npy_content(bytes: &[u8], kind: &str, shape: &[Option<usize>]) -> Result<(usize, Vec<u8>), String> {
    let header = bytes
        .strip_prefix(b"\x93NUMPY\x01\x00")
        .and_then(|rest| rest.split_at_checked(2))
        .and_then(|(length, rest)| rest.split_at_checked(u16::from_le_bytes([length[0], length[1]]).into()));
    let Some((header, content)) = header else {
        return Err("it is not an array in numpy's format 1.0".into());
    };
    let header = String::from_utf8_lossy(header);
    let expected = format!("an array of {kind:?} in C order");
    if !header.contains(&format!("'descr': '{kind}'")) || !header.contains("'fortran_order': False") {
        return Err(format!("its header is {:?}, expected {expected}", header.trim_end()));
    }
    let dimensions: Option<Vec<usize>> = header
        .split_once("'shape': (")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(list, _)| list.split(',').map(str::trim).filter(|n| !n.is_empty()))
        .and_then(|numbers| numbers.map(|n| n.parse().ok()).collect());
    let fits = |found: &Vec<usize>| {
        found.len() == shape.len()
            && found.iter().zip(shape).all(|(n, want)| want.is_none_or(|want| want == *n))
    };
    let Some(dimensions) = dimensions.filter(fits) else {
        return Err(format!("its header is {:?}, expected the shape {shape:?}", header.trim_end()));
    };
    let item = kind[2..].parse::<usize>().expect("kinds end in their size");
    let size = dimensions.iter().try_fold(item, |product, &n| product.checked_mul(n));
    if size != Some(content.len()) {
        return Err(format!("it holds {} bytes, the shape {dimensions:?} needs {size:?}", content.len()));
    }
    Ok((dimensions[0], content.to_vec()))
}
