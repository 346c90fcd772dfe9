//! The order in which a hash table of the C++ library runs through its entries.
//!
//! MuJoCo collects the planes of a hull in an `unordered_map`, and numbers faces as that lists them. This is the order
//! of the library that its Linux build is made with.
//!
//! Source: LLVM libc++ 20, `__hash_table` (insertion of new keys, `__do_rehash`), `__next_prime`, `hash<double>`;
//! that MuJoCo 4.0.1 combines the hashes of the two angles as Boost does (`hash_combine`) was found by probing it.

/// The hash of a pair of numbers.
pub(super) fn hash(pair: [f64; 2]) -> u64 {
    /// The golden ratio, as Boost has it.
    const GOLDEN: u64 = 0x9e37_79b9;
    let [a, b] = pair.map(|x| if x == 0.0 { 0 } else { x.to_bits() });
    a ^ b.wrapping_add(GOLDEN).wrapping_add(a << 6).wrapping_add(a >> 2)
}

/// The order of distinct entries with these hashes, inserted one after the other.
pub(super) fn order(hashes: &[u64]) -> Vec<usize> {
    let mut table = Table { hashes, next: vec![None; hashes.len() + 1], bucket: Vec::new() };
    for entry in 0..hashes.len() {
        table.insert(entry);
    }
    let mut order = Vec::with_capacity(hashes.len());
    let mut at = table.next[hashes.len()];
    while let Some(entry) = at {
        order.push(entry);
        at = table.next[entry];
    }
    order
}

/// All entries are in one list, those of a bucket in a row.
struct Table<'a> {
    hashes: &'a [u64],
    /// Who follows each entry; the last is the head of the list.
    next: Vec<Option<usize>>,
    /// Who is before the first of each bucket that has entries.
    bucket: Vec<Option<usize>>,
}

impl Table<'_> {
    fn head(&self) -> usize {
        self.hashes.len()
    }

    /// The bucket of an entry.
    fn place(&self, entry: usize) -> usize {
        let place = self.hashes[entry] % self.bucket.len() as u64;
        usize::try_from(place).expect("less than the number of buckets")
    }

    /// Inserts an entry as the first of its bucket; a new bucket comes first of all.
    fn insert(&mut self, entry: usize) {
        if entry + 1 > self.bucket.len() {
            self.grow(entry + 1);
        }
        let place = self.place(entry);
        let before = self.bucket[place].unwrap_or(self.head());
        let follower = self.next[before].replace(entry);
        self.next[entry] = follower;
        if self.bucket[place].is_none() {
            self.bucket[place] = Some(before);
            if let Some(follower) = follower {
                let place = self.place(follower);
                self.bucket[place] = Some(entry);
            }
        }
    }

    /// Doubles the buckets at least. In the order of the list, entries whose bucket there is already move to its front.
    fn grow(&mut self, entries: usize) {
        let least = entries.max(2 * self.bucket.len() + 1).max(2);
        self.bucket =
            vec![
                None;
                (least..2 * least).find(|&n| is_prime(n)).expect("a prime lies between n and 2n")
            ];
        let mut before = self.head();
        let mut last_place = None;
        while let Some(entry) = self.next[before] {
            let place = self.place(entry);
            match self.bucket[place] {
                _ if last_place == Some(place) => before = entry,
                None => {
                    self.bucket[place] = Some(before);
                    (before, last_place) = (entry, Some(place));
                }
                Some(front) => {
                    self.next[before] = self.next[entry];
                    self.next[entry] = self.next[front].replace(entry);
                }
            }
        }
    }
}

fn is_prime(n: usize) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}
