// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {BlockHeader} from "@openzeppelin/contracts/utils/BlockHeader.sol";
import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {CouncilOptions} from "./CouncilOptions.sol";
import {IAgentCouncilOracle} from "./IAgentCouncilOracle.sol";
import {ICouncil, Terms} from "./ICouncil.sol";
import {ICouncilReputation} from "./ICouncilReputation.sol";

/// @title What a council computes without its storage: texts, options, headers
/// @notice The oracle's constructor deploys it, as one contract has at most 24,576 bytes (EIP-170).
/// @dev A text is `abi.encode(query, specifications, requiredCapabilities)`.
contract CouncilRules {
    uint256 public constant MAX_CAPABILITIES = 64; // the ERC's recommended limits: items, bytes of one, bytes in all
    uint256 public constant MAX_ITEM_BYTES = 64;
    uint256 public constant MAX_TEXT_BYTES = 8_192;

    uint256 public constant MAX_INFO_AGENTS = 64; // winners are a bit each in 64 bits
    uint256 public constant MAX_COMMIT_TIME = 30 days;
    uint256 public constant MAX_PHASE_TIME = 30 days;
    uint256 public constant MAX_CALLBACK_GAS = 10_000_000;
    uint256 public constant MIN_DISPUTE_JUDGES = 3;
    uint256 public constant MAX_DISPUTE_JUDGES = 15;
    uint256 public constant MAX_AMOUNT = type(uint96).max; // sums and parts of such amounts do not overflow
    uint256 private constant WHOLE = 10_000; // hundredths of a percent

    Terms private allTerms;

    constructor(Terms memory terms_) {
        _requireRange("revealTime", terms_.revealTime, 1, MAX_PHASE_TIME);
        _requireRange("drawTime", terms_.drawTime, 1, MAX_PHASE_TIME);
        _requireRange("judgeTime", terms_.judgeTime, 1, MAX_PHASE_TIME);
        _requireRange("disputeWindow", terms_.disputeWindow, 0, MAX_PHASE_TIME);
        _requireRange("disputeRegistrationTime", terms_.disputeRegistrationTime, 1, MAX_PHASE_TIME);
        _requireRange("callbackGas", terms_.callbackGas, 1, MAX_CALLBACK_GAS);
        _requireRange("judgeFee", terms_.judgeFee, 0, WHOLE);
        _requireRange("disputerReimbursement", terms_.disputerReimbursement, 0, WHOLE);
        _requireRange("judgeReimbursement", terms_.judgeReimbursement, 0, WHOLE);
        _requireRange("seedDelay", terms_.seedDelay, 1, type(uint8).max);
        _requireRange("minBond", terms_.minBond, 1, MAX_AMOUNT);
        bool isOdd = terms_.disputeJudges % 2 == 1;
        if (terms_.disputeWindow > 0) {
            _requireRange("disputeJudges", isOdd ? terms_.disputeJudges : 0, MIN_DISPUTE_JUDGES, MAX_DISPUTE_JUDGES);
        }
        allTerms = terms_;
    }

    /// @notice Returns the rules of all requests.
    function terms() external view returns (Terms memory) {
        return allTerms;
    }

    /// @notice Refuses the numbers of a request that are out of their ranges.
    function checkRequest(uint256 numInfoAgents, uint256 bondAmount, uint256 deadline) external view {
        _requireRange("numInfoAgents", numInfoAgents, 1, MAX_INFO_AGENTS);
        _requireRange("bondAmount", bondAmount, allTerms.minBond, MAX_AMOUNT);
        _requireRange("deadline", deadline, block.timestamp + 1, block.timestamp + MAX_COMMIT_TIME);
    }

    /// @notice Refuses a text beyond the limits; returns the number of its options, zero for an open query.
    function checkText(bytes calldata text) external pure returns (uint8 options) {
        if (text.length > MAX_TEXT_BYTES) revert ICouncil.TooLong("request", text.length, MAX_TEXT_BYTES);
        (, string memory specifications, IAgentCouncilOracle.AgentCapabilities memory required) = _decodeText(text);
        _checkItems(required.capabilities);
        _checkItems(required.domains);
        return uint8(CouncilOptions.count(bytes(specifications)));
    }

    /// @notice Returns a request in the ERC's form.
    /// @param accounts requester and reward token
    /// @param numbers reward, bond, number of info agents, deadline
    /// @param text empty where there is no request
    function describe(address[2] calldata accounts, uint128[4] calldata numbers, bytes calldata text)
        external
        pure
        returns (IAgentCouncilOracle.Request memory request)
    {
        (request.requester, request.rewardToken) = (accounts[0], accounts[1]);
        (request.reward, request.bondAmount) = (numbers[0], numbers[1]);
        (request.numInfoAgents, request.deadline) = (numbers[2], numbers[3]);
        if (text.length == 0) return request;
        (request.query, request.specifications, request.requiredCapabilities) = _decodeText(text);
    }

    /// @dev Returns query, specifications and capabilities of a text.
    function _decodeText(bytes calldata text)
        private
        pure
        returns (string memory, string memory, IAgentCouncilOracle.AgentCapabilities memory)
    {
        return abi.decode(text, (string, string, IAgentCouncilOracle.AgentCapabilities));
    }

    /// @notice Returns the place of an answer among the options, from 1 on; zero if it is none.
    function findOption(bytes calldata text, bytes calldata answer) external pure returns (uint8) {
        (, string memory specifications,) = _decodeText(text);
        return CouncilOptions.find(bytes(specifications), answer);
    }

    /// @notice Returns the option at a place from 1 on.
    function optionAt(bytes calldata text, uint256 place) external pure returns (bytes memory) {
        (, string memory specifications,) = _decodeText(text);
        return CouncilOptions.get(bytes(specifications), place);
    }

    /// @notice Tells whether an account declares the capabilities that a text requires.
    function isCapable(ICouncilReputation reputation, address account, bytes calldata text) external view returns (bool) {
        (,, IAgentCouncilOracle.AgentCapabilities memory required) = _decodeText(text);
        bool isAnybody = required.capabilities.length == 0 && required.domains.length == 0;
        return isAnybody || reputation.isCapable(account, required);
    }

    /// @notice Returns the PREVRANDAO of a block.
    /// @param header the RLP of its header, which is compared with the block's hash (8,191 blocks back with EIP-2935)
    function readRandomness(uint256 blockNumber, bytes calldata header) external view returns (bytes32) {
        bytes32 hash = blockNumber < block.number ? Blockhash.blockHash(blockNumber) : bytes32(0);
        if (hash == 0 || hash != keccak256(header)) revert ICouncil.WrongHeader(blockNumber);
        return BlockHeader.getPrevRandao(header);
    }

    function _checkItems(string[] memory items) private pure {
        if (items.length > MAX_CAPABILITIES) revert ICouncil.CapListTooLong(items.length, MAX_CAPABILITIES);
        for (uint256 i = 0; i < items.length; i++) {
            uint256 size = bytes(items[i]).length;
            if (size > MAX_ITEM_BYTES) revert ICouncil.TooLong("capability", size, MAX_ITEM_BYTES);
        }
    }

    function _requireRange(string memory member, uint256 value, uint256 lowest, uint256 highest) private pure {
        if (value < lowest || value > highest) revert ICouncil.OutOfRange(member, value, lowest, highest);
    }
}
