// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title A token whose approvals are like those of several tokens in use
contract ApprovalToken {
    enum Manner {
        PLAIN,
        NOTHING, // returns nothing
        FALSE, // changes nothing and returns false
        RESET, // refuses to change an allowance that is not zero to another one
        FEE // takes one base unit of a transfer
    }

    /// @notice The allowance has to be zero first.
    error AllowanceNotZero(uint256 allowance);

    Manner public immutable manner;
    string public symbol;
    uint8 public constant decimals = 6;
    mapping(address account => uint256) public balanceOf;
    mapping(address account => mapping(address spender => uint256)) public allowance;

    constructor(Manner _manner, string memory _symbol) {
        (manner, symbol) = (_manner, _symbol);
    }

    function mint(address account, uint256 amount) external {
        balanceOf[account] += amount;
    }

    function approve(address spender, uint256 amount) external {
        uint256 before = allowance[msg.sender][spender];
        if (manner == Manner.RESET && before != 0 && amount != 0) revert AllowanceNotZero(before);
        if (manner != Manner.FALSE) allowance[msg.sender][spender] = amount;
        _answer();
    }

    function transfer(address to, uint256 amount) external {
        if (manner != Manner.FALSE) _move(msg.sender, to, amount);
        _answer();
    }

    function transferFrom(address from, address to, uint256 amount) external {
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
        _answer();
    }

    /// @notice Takes tokens of the caller with the caller's allowance for this contract, as an exchange would.
    function pull(uint256 amount) external returns (bool) {
        (bool success,) = address(this).call(abi.encodeCall(this.transferFrom, (msg.sender, address(this), amount)));
        return success;
    }

    function _move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += manner == Manner.FEE ? amount - 1 : amount;
    }

    /// @dev Ends the call.
    function _answer() private view {
        uint256 size = manner == Manner.NOTHING ? 0 : 32;
        bool success = manner != Manner.FALSE;
        assembly ("memory-safe") {
            mstore(0, success)
            return(0, size)
        }
    }
}
