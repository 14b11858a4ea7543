//! Mutated inputs without a fuzzer, the same ones every time: seeds that are cut, joined, and changed in a few places.
//!
//! The seeds of a target are the files in `seeds/<target>/`: ordinary ones, and everything that once broke it. Tests of
//! several crates include this file.

use std::fs;
use std::path::Path;

/// What readers may stumble over.
const TOKENS: &[&str] = &[
    "\"",
    ",",
    "\n",
    "\r\n",
    ";",
    "\t",
    "\0",
    "\x04",
    "\n\x04",
    "\u{feff}",
    "NaN",
    "inf",
    "1e999",
    "NA",
    "-",
    "intervention_targets",
    "source,target",
    "note",
    "a",
    "b",
    "0",
    "1",
    "\u{a0}",
    "\u{e9}",
    "''",
    "\"A\"",
    "\"B\",",
    "[]",
    "{",
    "}",
    "1e308",
    "-1e-320",
    "9223372036854775807",
    "-1",
    "=1+1",
    "[[",
    "]]",
    "true",
    "PK\x03\x04",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&b;",
    "&#10;",
    "<model>",
    "/>",
    "_synthesis",
    "_void_",
    "species=",
];

/// The files in the target's folder of seeds, by name.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs the body on every seed as it is, then on `inputs` mutations.
pub fn mutate(seeds: &[Vec<u8>], inputs: usize, body: fn(&[u8])) {
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Random(1);
    let mut pool = seeds.to_vec();
    // Inputs larger than the seeds take time and find nothing new.
    let longest = seeds.iter().map(Vec::len).max().unwrap_or(0).max(1000);
    for _ in 0..inputs {
        let mut input = pool[random.below(pool.len())].clone();
        for _ in 0..1 + random.below(4) {
            change(&mut input, &pool, &mut random);
        }
        body(&input);
        if random.below(20) == 0 && input.len() < longest {
            let place = seeds.len() + random.below(100);
            if place < pool.len() { pool[place] = input } else { pool.push(input) }
        }
    }
}

fn change(input: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => input.truncate(at),
        2 => {
            let other = &pool[random.below(pool.len())];
            input.truncate(at);
            input.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        3 if at < input.len() => {
            let end = input.len().min(at + 1 + random.below(6));
            input.drain(at..end);
        }
        4 => input.insert(at, random.below(256) as u8),
        _ => {
            let token = TOKENS[random.below(TOKENS.len())];
            input.splice(at..at, token.bytes());
        }
    }
}

/// splitmix64
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}
