//! What can be wrong with the user's graph.

use crate::graph::EssentialGraphError;

use super::wording::{Excerpt, Place, did_you_mean, list};

/// Why a graph cannot be read or used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphFileError {
    /// An edge list with other columns.
    #[error("{file}: an edge list has the columns source,target and no others")]
    ExtraColumns {
        /// The file.
        file: String,
    },
    /// An edge without one of its ends.
    #[error("{at}: a node has no name; fill it in")]
    NamelessNode {
        /// The row.
        at: Box<Place>,
    },
    /// Not as many rows as columns.
    #[error(
        "{file}: the matrix has {columns} columns and {rows} rows, but it must be square; \
         an edge list begins with the line source,target"
    )]
    NotSquare {
        /// The file.
        file: String,
        /// Columns, not counting a column of row names.
        columns: usize,
        /// Rows, not counting the header.
        rows: String,
    },
    /// A cell of the matrix that is neither 0 nor 1.
    #[error("{at}: {text} is neither 0 nor 1; an edge list begins with the line source,target")]
    NotAnEdge {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// A row whose name is not that of its column.
    #[error(
        "{at}: the row is called {row}, but rows must be in the order of the columns, and {column} comes next"
    )]
    RowName {
        /// The row.
        at: Box<Place>,
        /// Its name.
        row: Excerpt,
        /// The name that it should have.
        column: Excerpt,
    },
    /// An edge from a node to itself.
    #[error("{at}: {node} has an edge to itself; remove it")]
    SelfLoop {
        /// The row.
        at: Box<Place>,
        /// The node.
        node: Excerpt,
    },
    /// A directed cycle.
    #[error("the graph has a cycle: {}{}", circle(.cycle), if cycle.len() == 2 {
        " (an edge in both directions is undirected; here every edge needs one direction)"
    } else {
        ""
    })]
    Cycle {
        /// The names along the cycle; the last has an edge to the first.
        cycle: Vec<String>,
    },
    /// Not the graph of an equivalence class.
    #[error("this is not an essential graph: {}", .reason.with_names(|node| super::wording::argument(&names[node])))]
    NotEssential {
        /// What is wrong.
        reason: EssentialGraphError,
        /// The names of the nodes.
        names: Vec<String>,
    },
    /// A node of the graph that is not a variable.
    #[error("the graph has a node {node} that is not a variable{}; the variables are {}",
        did_you_mean(.suggestion.as_deref()), list(.known))]
    UnknownNode {
        /// The node.
        node: Excerpt,
        /// The variables.
        known: Vec<String>,
        /// What was perhaps meant.
        suggestion: Option<String>,
    },
    /// A matrix without some of the variables.
    #[error("the graph lacks the variables {}; a matrix must have them all (an edge list need not)", list(.missing))]
    LacksNodes {
        /// The variables that are not nodes.
        missing: Vec<String>,
    },
    /// The numbers of names and nodes differ.
    #[error("{names} names for a graph of {nodes} nodes; give every node a name")]
    NamesAndNodes {
        /// How many names there are.
        names: usize,
        /// How many nodes there are.
        nodes: usize,
    },
}

fn circle(cycle: &[String]) -> String {
    let around = cycle.iter().chain(cycle.first());
    around.map(|name| super::wording::argument(name)).collect::<Vec<_>>().join(" -> ")
}
