//! Breadth-first search for a path, along arrows or along lines.

use std::collections::VecDeque;

use super::{Node, NodeSet};

/// The nodes of a shortest path, both ends included; those after `from` are all `inside`. `next[v]` holds the nodes one
/// step away from `v`; a node reaches itself.
pub(super) fn shortest_path(next: &[NodeSet], inside: &NodeSet, from: Node, to: Node) -> Option<Vec<Node>> {
    let mut came_from = vec![None; next.len()];
    let mut seen = NodeSet::of(next.len(), [from]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            let mut path = vec![to];
            while let Some(before) = came_from[*path.last()?] {
                path.push(before);
            }
            path.reverse();
            return Some(path);
        }
        for step in &next[node].intersection(inside) {
            if seen.insert(step) {
                came_from[step] = Some(node);
                queue.push_back(step);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shortest_and_keep_inside() {
        let next = [vec![1, 2], vec![3], vec![4], vec![5], vec![3, 5], vec![]].map(|of| NodeSet::of(6, of));
        let path = |inside: &[Node], from, to| {
            shortest_path(&next, &NodeSet::of(6, inside.iter().copied()), from, to)
        };
        let all = [0, 1, 2, 3, 4, 5];
        assert_eq!(path(&all, 0, 5), Some(vec![0, 1, 3, 5]));
        assert_eq!(path(&all, 2, 5), Some(vec![2, 4, 5]));
        assert_eq!(path(&[2, 3, 4, 5], 0, 3), Some(vec![0, 2, 4, 3]));
        assert_eq!(path(&[1, 3, 5], 4, 4), Some(vec![4]));
        assert_eq!(path(&[1, 2, 3, 4], 0, 5), None);
        assert_eq!(path(&all, 5, 0), None);
    }
}
