// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @notice Foundry's cheatcodes that this test uses.
interface Vm {
    function envUint(string calldata name) external view returns (uint256);
    function envInt(string calldata name, string calldata delimiter) external view returns (int256[] memory);
    function envBytes32(string calldata name) external view returns (bytes32);
    function envBytes(string calldata name) external view returns (bytes memory);
}

/// @notice A model's contract.
interface Model {
    function runModel(int256[] calldata input) external pure returns (int256[] memory);
}

/// @notice Runs a model on inputs that a seed determines, and compares the hash of all its outputs.
/// @dev `draw_inputs` in twins.py draws the same inputs.
contract TwinTest {
    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    /// @dev Increments and factors of splitmix64.
    uint256 private constant GAMMA = 0x9e3779b97f4a7c15;
    uint256 private constant FIRST = 0xbf58476d1ce4e5b9;
    uint256 private constant SECOND = 0x94d049bb133111eb;
    uint256 private constant MASK = type(uint64).max;

    Model private model;

    function setUp() external {
        bytes memory code = VM.envBytes("TWIN_CODE");
        address made;
        assembly ("memory-safe") {
            made := create(0, add(code, 32), mload(code))
        }
        require(made.code.length > 0, "the model's contract was not created");
        model = Model(made);
    }

    function test_outputs_have_the_expected_hash() external view {
        uint256 count = VM.envUint("TWIN_COUNT");
        uint256 seed = VM.envUint("TWIN_SEED");
        int256[] memory leasts = VM.envInt("TWIN_LEASTS", ",");
        int256[] memory mosts = VM.envInt("TWIN_MOSTS", ",");
        bytes32 hash;
        for (uint256 first = 0; first < count; first += 256) {
            uint256 end = first + 256 < count ? first + 256 : count;
            // A call of its own frees the memory of its inputs.
            hash = this.hashOutputs(hash, seed, first, end, leasts, mosts);
        }
        require(hash == VM.envBytes32("TWIN_HASH"), "outputs differ");
    }

    function hashOutputs(
        bytes32 hash,
        uint256 seed,
        uint256 first,
        uint256 end,
        int256[] memory leasts,
        int256[] memory mosts
    ) external view returns (bytes32) {
        int256[] memory input = new int256[](leasts.length);
        for (uint256 number = first; number < end; ++number) {
            for (uint256 i = 0; i < input.length; ++i) {
                input[i] = draw(seed + number * input.length + i, leasts[i], mosts[i]);
            }
            hash = keccak256(abi.encodePacked(hash, model.runModel(input)));
        }
        return hash;
    }

    /// @dev One in 8 is the least or the most value, the others are even between them.
    function draw(uint256 number, int256 least, int256 most) private pure returns (int256) {
        unchecked {
            uint256 z = ((number + 1) * GAMMA) & MASK;
            z = ((z ^ (z >> 30)) * FIRST) & MASK;
            z = ((z ^ (z >> 27)) * SECOND) & MASK;
            z ^= z >> 31;
            if (z & 7 == 0) return z & 8 == 0 ? least : most;
            return least + int256((z >> 4) % uint256(most - least + 1));
        }
    }
}
