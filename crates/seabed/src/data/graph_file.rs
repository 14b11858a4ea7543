//! Graphs as files: a CSV edge list `source,target`, or a 0/1 matrix with a header, row -> column.
//!
//! A file may hold a graph that is not a DAG: an edge in both directions is an
//! undirected one, as in essential graphs. What graphs mean is left to
//! [`graph`](crate::graph).

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use crate::graph::{CycleError, Dag, EssentialGraph, Node};

use super::error::DataError;
use super::graph_error::GraphFileError;
use super::layout::ReadOptions;
use super::names::{NameError, check_names, check_numbered, closest, index, trimmed};
use super::records::Records;
use super::source::Source;
use super::wording::{Excerpt, Place};

/// The header of an edge list.
const EDGE_LIST: [&str; 2] = ["source", "target"];

/// The largest graph that is read: the matrix takes a byte for every pair of nodes.
const MOST_NODES: usize = 10_000;

/// A graph over named nodes, as a file holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphFile {
    /// The nodes: of a matrix in the order of its columns, of an edge list in the order of appearance.
    pub names: Vec<String>,
    /// `[from][to]`; both directions are an undirected edge. No node has an edge to itself.
    pub adjacency: Vec<Vec<bool>>,
    /// Are all nodes named? A matrix names them all, an edge list only those with edges.
    pub complete: bool,
}

impl GraphFile {
    /// The graph as a DAG over the nodes in the order of `names`.
    pub fn to_dag(&self) -> Result<Dag, DataError> {
        Dag::from_rows_to_columns(&self.adjacency).map_err(|CycleError { cycle }| {
            let cycle = cycle.into_iter().map(|node| self.names[node].clone()).collect();
            GraphFileError::Cycle { cycle }.into()
        })
    }

    /// Is there an edge in both directions?
    pub fn has_undirected_edges(&self) -> bool {
        let a = &self.adjacency;
        (0..a.len()).any(|i| (0..i).any(|j| a[i][j] && a[j][i]))
    }

    /// The graph as an essential graph over the nodes in the order of `names`.
    pub fn to_essential_graph(&self) -> Result<EssentialGraph, DataError> {
        EssentialGraph::from_rows_to_columns(&self.adjacency)
            .map_err(|reason| GraphFileError::NotEssential { reason, names: self.names.clone() }.into())
    }

    /// The same graph over the variables `names`, in their order.
    ///
    /// Every node must be a variable. Variables that are not nodes are added without edges, unless the graph
    /// claims to name them all.
    pub fn aligned(&self, names: &[String]) -> Result<GraphFile, DataError> {
        check_names(names)?;
        let place = index(names);
        let mut to: Vec<Node> = Vec::with_capacity(self.names.len());
        for name in &self.names {
            match place.get(name.as_str()) {
                Some(&node) => to.push(node),
                None => {
                    return Err(GraphFileError::UnknownNode {
                        node: Excerpt::new(name),
                        known: names.to_vec(),
                        suggestion: closest(name, names).map(str::to_string),
                    }
                    .into());
                }
            }
        }
        if self.complete && self.names.len() < names.len() {
            let here = index(&self.names);
            let missing = names.iter().filter(|name| !here.contains_key(name.as_str())).cloned().collect();
            return Err(GraphFileError::LacksNodes { missing }.into());
        }
        let mut adjacency = vec![vec![false; names.len()]; names.len()];
        for (from, row) in self.adjacency.iter().enumerate() {
            for (into, &edge) in row.iter().enumerate() {
                adjacency[to[from]][to[into]] = edge;
            }
        }
        Ok(GraphFile { names: names.to_vec(), adjacency, complete: true })
    }
}

/// Reads a graph from a CSV file; see [`read_graph_from`].
pub fn read_graph(path: &Path) -> Result<GraphFile, DataError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|source| DataError::unreadable(name.clone(), source))?;
    read_graph_from(file, &name)
}

/// Reads a graph as CSV from anywhere; messages call it `source_name`.
///
/// A header `source,target` begins an edge list. Any other header names the nodes of a matrix, whose rows may
/// begin with their own names, in the order of the header.
pub fn read_graph_from(reader: impl Read, source_name: &str) -> Result<GraphFile, DataError> {
    let source = Source::open(reader, source_name, &ReadOptions::default())?;
    let (mut rows, _) = source.records();
    let header = rows.header()?;
    if header == EDGE_LIST {
        read_edge_list(rows, source_name)
    } else if header.starts_with(&EDGE_LIST.map(String::from)) && header.len() == 3 {
        Err(GraphFileError::ExtraColumns { file: source_name.to_string() }.into())
    } else {
        read_matrix(rows, header, source_name)
    }
}

fn read_edge_list<R: Read>(mut rows: Records<R>, file: &str) -> Result<GraphFile, DataError> {
    let mut names: Vec<String> = Vec::new();
    let mut nodes: HashMap<String, Node> = HashMap::new();
    let mut edges: Vec<(Node, Node)> = Vec::new();
    while rows.advance()? {
        if rows.cells().len() != EDGE_LIST.len() {
            return Err(rows.ragged());
        }
        let mut ends = [0; 2];
        for (k, (cell, end)) in rows.cells().iter().zip(&mut ends).enumerate() {
            let name = rows.text(cell)?;
            let name = trimmed(&name);
            *end = match nodes.get(name) {
                Some(&node) => node,
                None if name.is_empty() => {
                    return Err(GraphFileError::NamelessNode { at: Box::new(rows.place()) }.into());
                }
                None => {
                    check_numbered([(k + 1, name)]).map_err(|reason| named(reason, rows.place()))?;
                    nodes.insert(name.to_string(), names.len());
                    names.push(name.to_string());
                    names.len() - 1
                }
            };
        }
        let [from, to] = ends;
        if from == to {
            let at = Box::new(rows.place());
            return Err(GraphFileError::SelfLoop { at, node: Excerpt::new(&names[from]) }.into());
        }
        check_size(names.len(), file)?;
        edges.push((from, to));
    }
    let mut adjacency = vec![vec![false; names.len()]; names.len()];
    for (from, to) in edges {
        adjacency[from][to] = true;
    }
    Ok(GraphFile { names, adjacency, complete: false })
}

fn read_matrix<R: Read>(
    mut rows: Records<R>,
    mut names: Vec<String>,
    file: &str,
) -> Result<GraphFile, DataError> {
    // An empty first cell means that the rows begin with their names.
    let mut row_names = names.len() > 1 && names[0].is_empty();
    if row_names {
        names.remove(0);
    }
    check_names(&names).map_err(|reason| named(reason, Place::file(file)))?;
    check_size(names.len(), file)?;
    let not_square =
        |rows: String| GraphFileError::NotSquare { file: file.into(), columns: names.len(), rows };

    let mut adjacency: Vec<Vec<bool>> = Vec::new();
    while rows.advance()? {
        let from = adjacency.len();
        if from == names.len() {
            return Err(not_square(format!("more than {from}")).into());
        }
        let cells = rows.cells();
        // Some programs leave out the cell above the names of the rows.
        if from == 0 && cells.len() == names.len() + 1 {
            row_names = true;
        }
        if cells.len() != names.len() + usize::from(row_names) {
            return Err(rows.ragged());
        }
        let text = |k: usize| rows.text(&cells[k]).map(|text| trimmed(&text).to_string());
        if row_names && text(0)? != names[from] {
            let (row, column) = (Excerpt::new(&text(0)?), Excerpt::new(&names[from]));
            return Err(GraphFileError::RowName { at: Box::new(rows.place()), row, column }.into());
        }
        let mut edges = Vec::with_capacity(names.len());
        for (to, name) in names.iter().enumerate() {
            let text = text(to + usize::from(row_names))?;
            let at = || Box::new(rows.place().column(name));
            let edge = edge(&text)
                .ok_or_else(|| GraphFileError::NotAnEdge { at: at(), text: Excerpt::new(&text) })?;
            if edge && from == to {
                return Err(GraphFileError::SelfLoop { at: at(), node: Excerpt::new(name) }.into());
            }
            edges.push(edge);
        }
        adjacency.push(edges);
    }
    if adjacency.len() < names.len() {
        return Err(not_square(adjacency.len().to_string()).into());
    }
    Ok(GraphFile { names, adjacency, complete: true })
}

/// A cell of a matrix: 0 or 1 in any notation for numbers, or true and false.
fn edge(text: &str) -> Option<bool> {
    match text.parse::<f64>() {
        Ok(0.0) => Some(false),
        Ok(1.0) => Some(true),
        Ok(_) => None,
        Err(_) => text.to_lowercase().parse().ok(),
    }
}

fn named(reason: NameError, at: Place) -> DataError {
    DataError::Name { at: Box::new(at), reason }
}

fn check_size(nodes: usize, file: &str) -> Result<(), DataError> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    let (found, limit) = (nodes as u64, MOST_NODES as u64);
    Err(DataError::TooMany { file: file.to_string(), what: "nodes", found, limit })
}

/// Writes a DAG as a 0/1 matrix with a header, row -> column.
pub fn write_graph(writer: impl Write, names: &[String], dag: &Dag) -> Result<(), DataError> {
    write_matrix(writer, names, &dag.to_rows_to_columns())
}

/// Writes any graph, `adjacency[from][to]`, as a 0/1 matrix with a header.
pub fn write_matrix(writer: impl Write, names: &[String], adjacency: &[Vec<bool>]) -> Result<(), DataError> {
    check_names(names)?;
    let nodes = adjacency.len();
    if names.len() != nodes || adjacency.iter().any(|row| row.len() != nodes) {
        return Err(GraphFileError::NamesAndNodes { names: names.len(), nodes }.into());
    }
    if names.is_empty() {
        return Err(DataError::NoVariables { at: Box::default() });
    }
    // Two nodes called source and target would look like an edge list; row names make it a matrix.
    let row_names = names.starts_with(&EDGE_LIST.map(String::from));
    let mut csv = csv::WriterBuilder::new().from_writer(writer);
    let written = (|| -> csv::Result<()> {
        csv.write_record(row_names.then_some("").into_iter().chain(names.iter().map(String::as_str)))?;
        for (name, row) in names.iter().zip(adjacency) {
            let cells = row.iter().map(|&edge| if edge { "1" } else { "0" });
            csv.write_record(row_names.then_some(name.as_str()).into_iter().chain(cells))?;
        }
        csv.flush()?;
        Ok(())
    })();
    written.map_err(|error| DataError::Unwritable { file: "the graph".into(), source: error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GraphFile, DataError> {
        read_graph_from(text.as_bytes(), "g.csv")
    }

    #[test]
    fn the_three_ways_to_write_a_matrix_are_the_same_graph() {
        let graph = read("A,B,C\n0,1,0\n0,0,1\n0,0,0\n").unwrap();
        assert_eq!(graph.to_dag().unwrap(), Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap());
        assert!(graph.complete);
        assert_eq!(read(",A,B,C\nA,0,1,0\nB,0,0,1\nC,0,0,0\n").unwrap(), graph);
        assert_eq!(read("A,B,C\nA,0.0,1e0,0\nB,0,0,True\nC,0,FALSE,0\n").unwrap(), graph);
    }

    #[test]
    fn an_edge_list_names_only_nodes_with_edges() {
        let graph = read("source,target\nC,A\nA, B \nB,A\nC,A\n").unwrap();
        assert_eq!(graph.names, ["C", "A", "B"]);
        assert!(!graph.complete);
        let names = ["A", "B", "C", "D"].map(String::from);
        let wide = graph.aligned(&names).unwrap();
        assert_eq!(wide.adjacency[0], [false, true, false, false]);
        assert_eq!(wide.adjacency[1], [true, false, false, false]);
        assert_eq!(wide.adjacency[2], [true, false, false, false]);
        assert_eq!(wide.adjacency[3], [false; 4]);
        let none = read("source,target\n").unwrap();
        assert_eq!(none.aligned(&names).unwrap().to_dag().unwrap(), Dag::empty(4));
    }

    #[test]
    fn nodes_called_source_and_target_are_nodes() {
        let names = EDGE_LIST.map(String::from);
        let dag = Dag::from_edges(2, [(0, 1)]).unwrap();
        let mut text = Vec::new();
        write_graph(&mut text, &names, &dag).unwrap();
        assert_eq!(String::from_utf8_lossy(&text), ",source,target\nsource,0,1\ntarget,0,0\n");
        let graph = read_graph_from(&*text, "g.csv").unwrap();
        assert_eq!((graph.names.as_slice(), graph.to_dag().unwrap()), (&names[..], dag));
    }
}
