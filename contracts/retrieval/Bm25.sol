// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Segments} from "./Segments.sol";

/// @title Ranks passages by BM25, in integers
/// @notice With N passages of L words in total, a term in n of them, and a passage of l words that has it t times, the
///   passage's score is the sum over the query's terms of
///
///   `idf * t * L * 10^6 / (t * L * 10^6 + k1 * ((1000 - b) * L + b * l * N))`, rounded down, where
///   `idf = log2(2N + 2) - log2(2n + 1)`, both as `log2` computes them, with 64 binary digits.
///
///   That is BM25 as Lucene has it, `ln(1 + (N - n + 0.5) / (n + 0.5)) * t / (t + k1 * (1 - b + b * l / (L / N)))`,
///   divided by `ln 2`: a score is in bits. An idf differs from the real number by less than 2^-64, and a score by less
///   than 2^-62 for each term. Of equal scores the lowest id comes first.
/// @dev All postings of the query's terms are read: no passage is left out of the ranking. The limits bound the gas; beyond
///   them a search is refused.
library Bm25 {
    /// @notice The parameters are out of their range.
    error WrongParameters(uint256 k1, uint256 b);

    /// @notice A search returns 1 to `MAX_MATCHES` passages.
    error WrongCount(uint256 count, uint256 limit);

    /// @notice The query has more words, without stop words and repetitions.
    error TooManyTerms(uint256 limit);

    /// @notice The query's words are too common: they occur in so many passages, added up.
    error TooManyPostings(uint256 postings, uint256 limit);

    /// @notice Terms of a query; each has 16 bits of a word.
    uint256 internal constant MAX_TERMS = 12;

    /// @notice Passages that a search returns.
    uint256 internal constant MAX_MATCHES = 8;

    /// @notice Postings that a search reads, at 200 gas each. Five words that are in each of 10,000 passages have as many.
    uint256 internal constant MAX_POSTINGS = 50_000;

    /// @notice The largest `k1`, in thousandths. Usual values are 1200 to 2000.
    uint256 internal constant MAX_K1 = 10_000;

    /// @notice The largest `b`, in thousandths. A usual value is 750.
    uint256 internal constant MAX_B = 1000;

    /// @dev `k1` and `b` are in thousandths, so that their product is in millionths.
    uint256 private constant MILLIONTHS = 1_000_000;

    /// @notice What a search reads.
    /// @param segments addresses of the segments
    /// @param removed a bit for each place of a segment
    /// @param passages number of passages that are not removed
    /// @param words their length in total
    /// @param k1 in thousandths
    /// @param b in thousandths
    struct Index {
        address[] segments;
        uint256[] removed;
        uint256 passages;
        uint256 words;
        uint256 k1;
        uint256 b;
    }

    /// @notice A passage that has a word of the query.
    /// @param score in bits, times 2^64
    struct Match {
        uint256 id;
        uint256 score;
    }

    /// @dev Where the postings of the query's terms are, 16 bits for each term in a word for each segment.
    struct Postings {
        uint256[] starts;
        uint256[] counts;
        uint256[] frequencies;
    }

    /// @dev Numbers of a search that are the same for all postings, and its pointers.
    struct Search {
        uint256 unit; // L * 10^6
        uint256 base; // k1 * (1000 - b) * L
        uint256 slope; // k1 * b * N
        uint256 buffer;
        uint256 scores;
        uint256 best;
        uint256 count;
    }

    /// @notice Reverts unless the parameters are in their range.
    function check(uint256 k1, uint256 b) internal pure {
        if (k1 > MAX_K1 || b > MAX_B) revert WrongParameters(k1, b);
    }

    /// @notice Returns the best passages for some terms, the best one first.
    /// @param terms different ones
    function search(Index memory index, uint256[] memory terms, uint256 count)
        internal
        view
        returns (Match[] memory matches)
    {
        if (count == 0 || count > MAX_MATCHES) revert WrongCount(count, MAX_MATCHES);
        if (terms.length > MAX_TERMS) revert TooManyTerms(MAX_TERMS);
        uint256 buffer = Segments.newBuffer();
        Postings memory postings = _find(index, terms, buffer);
        uint256[] memory weights = new uint256[](terms.length);
        uint256 all = log2(2 * index.passages + 2);
        for (uint256 i = 0; i < terms.length; i++) {
            weights[i] = (all - log2(2 * postings.frequencies[i] + 1)) * index.words * MILLIONTHS;
        }
        Search memory run;
        run.unit = index.words * MILLIONTHS;
        run.base = index.k1 * (MAX_B - index.b) * index.words;
        run.slope = index.k1 * index.b * index.passages;
        run.buffer = buffer;
        run.scores = _pointer(new uint256[](Segments.MAX_PASSAGES));
        uint256[] memory best = new uint256[](count);
        run.best = _pointer(best);
        run.count = count;
        for (uint256 i = 0; i < index.segments.length; i++) {
            if (postings.counts[i] == 0) continue;
            Segments.load(index.segments[i], buffer);
            _score(run, weights, postings.starts[i], postings.counts[i]);
            _choose(run, index.removed[i]);
        }
        return _matches(best);
    }

    /// @notice Returns in how many passages that are not removed each of the terms is.
    function frequencies(Index memory index, uint256[] memory terms) internal view returns (uint256[] memory) {
        return _find(index, terms, Segments.newBuffer()).frequencies;
    }

    /// @notice Returns the logarithm to base 2 of an integer from 1 to 2^128 - 1, times 2^64.
    /// @dev The integer digits are the position of the highest bit. The number is then scaled to 1 to 2, with 127 binary
    ///   digits, and squared for each further digit: the digit is 1 if the square is 2 or more, and then it is halved.
    ///   The result is below the real number, by less than 2^-64 + 2^-125.
    function log2(uint256 x) internal pure returns (uint256 result) {
        uint256 highest = Math.log2(x);
        result = highest << 64;
        assembly ("memory-safe") {
            let m := shl(sub(127, highest), x)
            for { let digit := shl(63, 1) } digit { digit := shr(1, digit) } {
                m := shr(127, mul(m, m))
                if shr(128, m) {
                    m := shr(1, m)
                    result := or(result, digit)
                }
            }
        }
    }

    /// @dev Finds the postings of each term in each segment.
    function _find(Index memory index, uint256[] memory terms, uint256 buffer)
        private
        view
        returns (Postings memory found)
    {
        found.starts = new uint256[](index.segments.length);
        found.counts = new uint256[](index.segments.length);
        found.frequencies = new uint256[](terms.length);
        uint256 total;
        for (uint256 i = 0; i < index.segments.length; i++) {
            Segments.load(index.segments[i], buffer);
            uint256 starts;
            uint256 counts;
            unchecked {
                for (uint256 term = 0; term < terms.length; term++) {
                    (uint256 start, uint256 count) = Segments.find(buffer, terms[term]);
                    if (count == 0) continue;
                    starts |= start << (16 * term);
                    counts |= count << (16 * term);
                    total += count;
                    found.frequencies[term] += Segments.countOf(buffer, start, count, index.removed[i]);
                }
            }
            (found.starts[i], found.counts[i]) = (starts, counts);
        }
        if (total > MAX_POSTINGS) revert TooManyPostings(total, MAX_POSTINGS);
    }

    /// @dev Adds up the scores of the passages of the loaded segment, by place.
    function _score(Search memory run, uint256[] memory weights, uint256 starts, uint256 counts) private pure {
        (uint256 passages, uint256 postings) = Segments.pointers(run.buffer);
        (uint256 unit, uint256 base, uint256 slope, uint256 scores) = (run.unit, run.base, run.slope, run.scores);
        assembly ("memory-safe") {
            calldatacopy(scores, calldatasize(), shl(5, byte(0, mload(sub(passages, 3))))) // zeros
        }
        uint256 lengths = passages + 6 - 32; // a passage's length is the end of the word at its place
        for (uint256 term = 0; counts != 0; term++) {
            uint256 weight = weights[term];
            assembly ("memory-safe") {
                let at := add(postings, shl(1, and(starts, 0xffff)))
                for { let end := add(at, shl(1, and(counts, 0xffff))) } lt(at, end) { at := add(at, 2) } {
                    let posting := mload(at)
                    let place := byte(0, posting)
                    let occurrences := byte(1, posting)
                    let length := and(mload(add(lengths, mul(6, place))), 0xffff)
                    let score := add(scores, shl(5, place))
                    mstore(
                        score,
                        add(
                            mload(score),
                            div(
                                mul(weight, occurrences),
                                add(mul(unit, occurrences), add(base, mul(slope, length)))
                            )
                        )
                    )
                }
                starts := shr(16, starts)
                counts := shr(16, counts)
            }
        }
    }

    /// @dev Keeps the best passages so far, descending. One is `score << 32 | 2^32 - 1 - id`, so that the order of these
    ///   numbers is that of the ranking.
    function _choose(Search memory run, uint256 removed) private pure {
        (uint256 passages,) = Segments.pointers(run.buffer);
        (uint256 scores, uint256 best, uint256 count) = (run.scores, run.best, run.count);
        assembly ("memory-safe") {
            let last := add(best, shl(5, sub(count, 1)))
            let least := shr(32, mload(last))
            let end := add(scores, shl(5, byte(0, mload(sub(passages, 3)))))
            for { let cell := scores } lt(cell, end) { cell := add(cell, 32) } {
                let score := mload(cell)
                if lt(score, least) { continue }
                if iszero(score) { continue }
                let place := shr(5, sub(cell, scores))
                if and(1, shr(place, removed)) { continue }
                let candidate := or(shl(32, score), sub(0xffffffff, shr(224, mload(add(passages, mul(6, place))))))
                if gt(candidate, mload(last)) {
                    let to := last
                    for {} gt(to, best) { to := sub(to, 32) } {
                        let better := mload(sub(to, 32))
                        if gt(better, candidate) { break }
                        mstore(to, better)
                    }
                    mstore(to, candidate)
                    least := shr(32, mload(last))
                }
            }
        }
    }

    function _matches(uint256[] memory best) private pure returns (Match[] memory matches) {
        uint256 count;
        while (count < best.length && best[count] != 0) count++;
        matches = new Match[](count);
        for (uint256 i = 0; i < count; i++) {
            matches[i] = Match(type(uint32).max - uint32(best[i]), best[i] >> 32);
        }
    }

    function _pointer(uint256[] memory values) private pure returns (uint256 pointer) {
        assembly ("memory-safe") {
            pointer := add(values, 32)
        }
    }
}
