// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {TransientSlot} from "@openzeppelin/contracts/utils/TransientSlot.sol";
import {DataAsCode} from "../callback/DataAsCode.sol";
import {Bm25} from "./Bm25.sol";
import {Segments} from "./Segments.sol";
import {Utf8} from "./Utf8.sol";
import {Words} from "./Words.sol";

/// @title Passages of text that contracts can search
/// @notice Editors add, replace and remove passages: accounts with `EDITOR_ROLE`, such as an owner or the timelock of a
///   Governor. A text is kept as the code of an address, or by its hash alone. `search` ranks the passages by BM25, as
///   `Bm25` states; anybody may call it.
contract KnowledgeBase is AccessControl {
    using TransientSlot for *;

    /// @notice A call adds 1 to 255 passages.
    error WrongBatch(uint256 passages, uint256 limit);

    /// @notice The text of a passage is empty or too long.
    error WrongSize(uint256 index, uint256 size, uint256 limit);

    /// @notice The texts of one call are too long together: add fewer at once.
    error BatchTooLarge(uint256 size, uint256 limit);

    /// @notice The text of a passage is not UTF-8.
    error NotUtf8(uint256 index);

    /// @notice The base is full. Removed passages count until their segment is merged.
    error TooManyPassages(uint256 passages, uint256 limit);

    /// @notice The index has its most segments: merge some, and add more passages at once.
    error TooManySegments(uint256 limit);

    /// @notice There is no such passage, or it was removed.
    error NoSuchPassage(uint256 id);

    /// @notice There is no such segment.
    error NoSuchSegment(uint256 position);

    /// @notice The text has another hash than the passage.
    error WrongText(uint256 id, bytes32 expected);

    /// @notice The query is too long.
    error QueryTooLong(uint256 size, uint256 limit);

    /// @notice A passage was added.
    /// @param hash keccak256 of its text
    /// @param words its length without stop words
    /// @param isStored whether the text is on the chain
    event PassageAdded(uint256 indexed id, bytes32 hash, uint256 words, bool isStored);

    /// @notice A passage was removed.
    event PassageRemoved(uint256 indexed id);

    /// @notice A passage took the place of another, which was removed.
    event PassageReplaced(uint256 indexed oldId, uint256 indexed newId);

    /// @notice A segment of the index was written.
    event SegmentAdded(uint256 indexed key, address where);

    /// @notice A segment is no longer part of the index.
    event SegmentRemoved(uint256 indexed key);

    /// @notice A passage that is not removed.
    /// @param store where its text is kept with others; zero if it is not
    /// @param offset of the text there, in bytes
    /// @param size of the text, in bytes
    /// @param segment key of its segment
    /// @param place in its segment
    /// @param words its length without stop words
    struct Passage {
        address store;
        uint16 offset;
        uint16 size;
        uint32 segment;
        uint8 place;
        uint16 words;
    }

    /// @notice A part of the index.
    /// @param where the address whose code it is
    /// @param key its number, which no other segment ever has
    /// @param passages how many it holds, removed ones included
    /// @param removed how many of them are removed
    struct Segment {
        address where;
        uint32 key;
        uint8 passages;
        uint8 removed;
    }

    /// @notice Counts.
    /// @param passages that are not removed
    /// @param words their length in total, without stop words
    /// @param held passages in segments, removed ones included
    /// @param lastId the id of the passage that was added last
    /// @param lastKey the key of the segment that was written last
    struct Statistics {
        uint32 passages;
        uint64 words;
        uint32 held;
        uint32 lastId;
        uint32 lastKey;
    }

    /// @notice May add, replace and remove passages, and merge segments.
    bytes32 public constant EDITOR_ROLE = keccak256("EDITOR_ROLE");

    /// @notice Passages in segments. With `MAX_SEGMENTS` it bounds the gas of a search.
    uint256 public constant MAX_PASSAGES = 10_000;

    /// @notice Segments of the index; each costs a search some 10,000 gas.
    uint256 public constant MAX_SEGMENTS = 256;

    /// @notice Bytes of a passage.
    uint256 public constant MAX_PASSAGE_BYTES = 4096;

    /// @notice Bytes of a query.
    uint256 public constant MAX_QUERY_BYTES = 1024;

    /// @dev Bytes of the texts of one call: what the code of one address holds.
    uint256 private constant MAX_BATCH_BYTES = 24_575;

    /// @dev The area of transient storage that holds presented texts.
    bytes32 private constant AREA = keccak256("pyevm-agents.KnowledgeBase");

    /// @notice BM25's `k1`, in thousandths.
    uint256 public immutable k1;

    /// @notice BM25's `b`, in thousandths.
    uint256 public immutable b;

    /// @notice Where the table of stop words is kept.
    address public immutable stopWords;

    /// @notice Counts of passages, words and segments.
    Statistics public statistics;

    /// @notice Passages by id; zeros for one that is not there.
    mapping(uint256 id => Passage) public passages;

    /// @notice Segments of the index, in no order.
    Segment[] public segments;

    /// @notice The removed passages of a segment, a bit for each place.
    mapping(uint256 key => uint256) public removedIn;

    mapping(uint256 id => bytes32) private hashes;
    mapping(uint256 key => uint256) private positions;

    /// @param admin gives and takes roles, and is the first editor
    /// @param _stopWords words that are not indexed, with anything else between them; at most 128
    /// @param _k1 in thousandths, at most 10,000
    /// @param _b in thousandths, at most 1000
    constructor(address admin, string memory _stopWords, uint256 _k1, uint256 _b) {
        Bm25.check(_k1, _b);
        (k1, b) = (_k1, _b);
        stopWords = DataAsCode.write(Words.stopWordTable(_stopWords));
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(EDITOR_ROLE, admin);
    }

    // Editors

    /// @notice Adds passages; the first one gets the next id, the others those after it.
    /// @param texts UTF-8, at most 24,575 bytes together
    /// @param isStored whether the texts are kept on the chain; else their hashes are
    function add(string[] memory texts, bool isStored) public onlyRole(EDITOR_ROLE) returns (uint256 firstId) {
        uint256 count = texts.length;
        if (count == 0 || count > Segments.MAX_PASSAGES) revert WrongBatch(count, Segments.MAX_PASSAGES);
        bytes memory all = _joined(texts);
        address store = isStored ? DataAsCode.write(all) : address(0);
        Segments.Draft memory draft = _draft(texts, all.length);
        uint256 key = _write(draft, count);
        firstId = draft.ids[0];
        uint256 offset;
        uint256 total;
        for (uint256 i = 0; i < count; i++) {
            Passage memory passage = Passage(store, uint16(offset), 0, uint32(key), uint8(i), uint16(draft.lengths[i]));
            offset += _record(firstId + i, bytes(texts[i]), passage);
            total += passage.words;
        }
        statistics.passages += uint32(count);
        statistics.words += uint64(total);
        statistics.lastId += uint32(count);
    }

    /// @notice Removes passages.
    function remove(uint256[] calldata ids) external onlyRole(EDITOR_ROLE) {
        for (uint256 i = 0; i < ids.length; i++) _remove(ids[i]);
    }

    /// @notice Removes passages, and adds as many others in their places, with new ids.
    /// @return firstId the id of the passage that takes the place of the first one
    function replace(uint256[] calldata ids, string[] calldata texts, bool isStored)
        external
        onlyRole(EDITOR_ROLE)
        returns (uint256 firstId)
    {
        if (ids.length != texts.length) revert WrongBatch(texts.length, ids.length);
        for (uint256 i = 0; i < ids.length; i++) _remove(ids[i]);
        firstId = add(texts, isStored);
        for (uint256 i = 0; i < ids.length; i++) emit PassageReplaced(ids[i], firstId + i);
    }

    /// @notice Makes one segment of two, or of one, without its removed passages. It changes no result of a search.
    /// @param first position of a segment
    /// @param second position of another one, or the same
    function merge(uint256 first, uint256 second) external onlyRole(EDITOR_ROLE) {
        uint256 buffer = Segments.newBuffer();
        Segments.Draft memory draft = _roomFor(first, second, buffer);
        (uint256 firstKey, uint256 secondKey) = (_segment(first).key, _segment(second).key);
        _take(first, buffer, draft);
        if (first != second) _take(second, buffer, draft);
        _trim(draft);
        _drop(firstKey);
        if (first != second) _drop(secondKey);
        uint256 key = _write(draft, draft.ids.length);
        for (uint256 i = 0; i < draft.ids.length; i++) {
            Passage storage passage = passages[draft.ids[i]];
            (passage.segment, passage.place) = (uint32(key), uint8(i));
        }
    }

    // Everybody

    /// @notice Returns the passages that match a query best, the best one first; fewer if fewer have a word of it.
    /// @dev Reverts with `Bm25.TooManyTerms` and `Bm25.TooManyPostings` beyond the limits, so the gas is bounded.
    /// @param count at most 8
    function search(string memory query, uint256 count) external view returns (Bm25.Match[] memory) {
        return Bm25.search(_index(), _termsOf(query), count);
    }

    /// @notice Returns in how many passages a word is: the first word of the text that is no stop word.
    function documentFrequency(string memory word) external view returns (uint256) {
        uint256[] memory terms = _termsOf(word);
        return terms.length == 0 ? 0 : Bm25.frequencies(_index(), terms)[0];
    }

    /// @notice Shows a text whose hash is a passage's, until the end of the transaction.
    function present(uint256 id, string calldata text) external {
        bytes32 expected = _hashOf(id, _passage(id));
        if (keccak256(bytes(text)) != expected) revert WrongText(id, expected);
        uint256 slot = _slotOf(id);
        bytes32(slot).asBoolean().tstore(true);
        for (uint256 i = 0; i < bytes(text).length; i += 32) {
            bytes32(slot + 1 + i / 32).asBytes32().tstore(bytes32(bytes(text)[i:]));
        }
    }

    /// @notice Returns a passage's text.
    /// @return isKnown false if it is not on the chain and was not presented in this transaction
    function textOf(uint256 id) external view returns (bool isKnown, string memory text) {
        Passage memory passage = _passage(id);
        if (passage.store != address(0)) return (true, string(_stored(passage)));
        uint256 slot = _slotOf(id);
        if (!bytes32(slot).asBoolean().tload()) return (false, "");
        bytes memory found = new bytes(passage.size);
        for (uint256 i = 0; i < found.length; i += 32) {
            bytes32 word = bytes32(slot + 1 + i / 32).asBytes32().tload();
            assembly ("memory-safe") {
                mstore(add(add(found, 32), i), word) // memory is allocated in whole words
            }
        }
        return (true, string(found));
    }

    /// @notice Returns the keccak256 of a passage's text.
    function hashOf(uint256 id) external view returns (bytes32) {
        return _hashOf(id, _passage(id));
    }

    /// @notice Returns the number of segments.
    function segmentCount() external view returns (uint256) {
        return segments.length;
    }

    /// @notice Returns a segment's bytes, as `Segments` describes them.
    function segmentData(uint256 position) external view returns (bytes memory) {
        return DataAsCode.read(_segment(position).where);
    }

    /// @notice Returns the terms of a text: those of its different words without stop words.
    function termsOf(string memory text) external view returns (bytes8[] memory terms) {
        uint256[] memory found = _termsOf(text);
        terms = new bytes8[](found.length);
        for (uint256 i = 0; i < found.length; i++) terms[i] = bytes8(uint64(found[i]));
    }

    // Parts of `add`

    function _joined(string[] memory texts) private pure returns (bytes memory all) {
        uint256 total;
        for (uint256 i = 0; i < texts.length; i++) {
            uint256 size = bytes(texts[i]).length;
            if (size == 0 || size > MAX_PASSAGE_BYTES) revert WrongSize(i, size, MAX_PASSAGE_BYTES);
            total += size;
        }
        if (total > MAX_BATCH_BYTES) revert BatchTooLarge(total, MAX_BATCH_BYTES);
        all = new bytes(total);
        uint256 cursor;
        for (uint256 i = 0; i < texts.length; i++) {
            bytes memory text = bytes(texts[i]);
            if (!Utf8.isValid(text)) revert NotUtf8(i);
            assembly ("memory-safe") {
                mcopy(add(add(all, 32), cursor), add(text, 32), mload(text))
                cursor := add(cursor, mload(text))
            }
        }
    }

    /// @dev Splits texts into words; `bytesInAll` bounds their number.
    function _draft(string[] memory texts, uint256 bytesInAll) private view returns (Segments.Draft memory draft) {
        bytes memory table = DataAsCode.read(stopWords);
        uint256 count = texts.length;
        uint256 nextId = statistics.lastId + 1;
        draft.ids = new uint256[](count);
        draft.lengths = new uint256[](count);
        draft.entries = new uint256[]((bytesInAll + count) / 2);
        for (uint256 i = 0; i < count; i++) {
            draft.ids[i] = nextId + i;
            uint256 before = draft.entryCount;
            _addWords(bytes(texts[i]), i, table, draft);
            draft.lengths[i] = draft.entryCount - before;
        }
        draft.passageCount = count;
        _trim(draft);
    }

    function _addWords(bytes memory text, uint256 place, bytes memory table, Segments.Draft memory draft) private pure {
        uint256 count = draft.entryCount;
        uint256[] memory entries = draft.entries;
        (uint256 term, uint256 end) = Words.next(text, 0);
        for (; term != 0; (term, end) = Words.next(text, end)) {
            if (Words.isStopWord(table, term)) continue;
            assembly ("memory-safe") {
                // A text has at most one word for two bytes, and one: the list has room for it.
                mstore(add(add(entries, 32), shl(5, count)), or(or(shl(24, term), shl(16, place)), 1))
                count := add(count, 1)
            }
        }
        draft.entryCount = count;
    }

    /// @dev Keeps the record of a passage; returns the size of its text.
    function _record(uint256 id, bytes memory text, Passage memory passage) private returns (uint256 size) {
        size = text.length;
        passage.size = uint16(size);
        passages[id] = passage;
        bytes32 hash = keccak256(text);
        bool isStored = passage.store != address(0);
        if (!isStored) hashes[id] = hash;
        emit PassageAdded(id, hash, passage.words, isStored);
    }

    /// @dev Writes a segment of a draft; returns its key.
    function _write(Segments.Draft memory draft, uint256 count) private returns (uint256 key) {
        if (segments.length == MAX_SEGMENTS) revert TooManySegments(MAX_SEGMENTS);
        uint256 held = statistics.held + count;
        if (held > MAX_PASSAGES) revert TooManyPassages(held, MAX_PASSAGES);
        key = ++statistics.lastKey;
        statistics.held = uint32(held);
        address where = DataAsCode.write(Segments.build(draft.ids, draft.lengths, draft.entries));
        positions[key] = segments.length;
        segments.push(Segment(where, uint32(key), uint8(count), 0));
        emit SegmentAdded(key, where);
    }

    // Parts of `remove` and `merge`

    function _remove(uint256 id) private {
        Passage memory passage = _passage(id);
        delete passages[id];
        delete hashes[id];
        statistics.passages--;
        statistics.words -= passage.words;
        Segment storage segment = segments[positions[passage.segment]];
        emit PassageRemoved(id);
        if (segment.removed + 1 == segment.passages) {
            _drop(passage.segment);
        } else {
            segment.removed++;
            removedIn[passage.segment] |= 1 << passage.place;
        }
    }

    /// @dev Takes a segment out of the index; the last one gets its position.
    function _drop(uint256 key) private {
        uint256 position = positions[key];
        statistics.held -= segments[position].passages;
        Segment memory last = segments[segments.length - 1];
        segments[position] = last;
        positions[last.key] = position;
        segments.pop();
        delete positions[key];
        delete removedIn[key];
        emit SegmentRemoved(key);
    }

    function _roomFor(uint256 first, uint256 second, uint256 buffer) private view returns (Segments.Draft memory draft) {
        Segments.load(_segment(first).where, buffer);
        (uint256 count, uint256 postings) = Segments.sizes(buffer);
        if (first != second) {
            Segments.load(_segment(second).where, buffer);
            (uint256 more, uint256 morePostings) = Segments.sizes(buffer);
            (count, postings) = (count + more, postings + morePostings);
        }
        draft.ids = new uint256[](count);
        draft.lengths = new uint256[](count);
        draft.entries = new uint256[](postings);
    }

    function _take(uint256 position, uint256 buffer, Segments.Draft memory draft) private view {
        Segment memory segment = segments[position];
        Segments.load(segment.where, buffer);
        Segments.extract(buffer, removedIn[segment.key], draft);
        if (draft.passageCount > Segments.MAX_PASSAGES) {
            revert WrongBatch(draft.passageCount, Segments.MAX_PASSAGES);
        }
    }

    /// @dev Cuts a draft's lists to what they hold.
    function _trim(Segments.Draft memory draft) private pure {
        (uint256[] memory ids, uint256[] memory lengths, uint256[] memory entries) =
            (draft.ids, draft.lengths, draft.entries);
        (uint256 count, uint256 entryCount) = (draft.passageCount, draft.entryCount);
        assembly ("memory-safe") {
            mstore(ids, count)
            mstore(lengths, count)
            mstore(entries, entryCount)
        }
    }

    // Reading

    function _index() private view returns (Bm25.Index memory index) {
        uint256 count = segments.length;
        index.segments = new address[](count);
        index.removed = new uint256[](count);
        for (uint256 i = 0; i < count; i++) {
            Segment memory segment = segments[i];
            index.segments[i] = segment.where;
            if (segment.removed != 0) index.removed[i] = removedIn[segment.key];
        }
        (index.passages, index.words) = (statistics.passages, statistics.words);
        (index.k1, index.b) = (k1, b);
    }

    function _termsOf(string memory text) private view returns (uint256[] memory terms) {
        if (bytes(text).length > MAX_QUERY_BYTES) revert QueryTooLong(bytes(text).length, MAX_QUERY_BYTES);
        bytes memory table = DataAsCode.read(stopWords);
        terms = new uint256[](Bm25.MAX_TERMS);
        uint256 count;
        (uint256 term, uint256 end) = Words.next(bytes(text), 0);
        for (; term != 0; (term, end) = Words.next(bytes(text), end)) {
            if (Words.isStopWord(table, term) || _isIn(terms, count, term)) continue;
            if (count == Bm25.MAX_TERMS) revert Bm25.TooManyTerms(Bm25.MAX_TERMS);
            terms[count++] = term;
        }
        assembly ("memory-safe") {
            mstore(terms, count)
        }
    }

    function _isIn(uint256[] memory terms, uint256 count, uint256 term) private pure returns (bool) {
        for (uint256 i = 0; i < count; i++) {
            if (terms[i] == term) return true;
        }
        return false;
    }

    function _segment(uint256 position) private view returns (Segment memory) {
        if (position >= segments.length) revert NoSuchSegment(position);
        return segments[position];
    }

    function _passage(uint256 id) private view returns (Passage memory passage) {
        passage = passages[id];
        if (passage.size == 0) revert NoSuchPassage(id);
    }

    function _hashOf(uint256 id, Passage memory passage) private view returns (bytes32) {
        return passage.store == address(0) ? hashes[id] : keccak256(_stored(passage));
    }

    function _stored(Passage memory passage) private view returns (bytes memory text) {
        text = new bytes(passage.size);
        (address store, uint256 offset, uint256 size) = (passage.store, passage.offset, passage.size);
        assembly ("memory-safe") {
            extcodecopy(store, add(text, 32), add(offset, 1), size)
        }
    }

    function _slotOf(uint256 id) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(AREA, id))) >> 1; // so that no index overflows
    }
}
