// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

/// @title A token that calls a contract from its functions, as ERC-777 calls senders and recipients
/// @notice It is also an account: it takes part in a council as it is told.
contract CallingToken {
    enum Place {
        Nowhere,
        Allowance,
        BalanceOf,
        Approve,
        BeforeTransferFrom,
        AfterTransferFrom,
        BeforeTransfer,
        AfterTransfer
    }

    /// @notice A call from `allowance` or `balanceOf` succeeded, which nothing can note: the caller made a static call.
    error StaticCallSucceeded();

    Place public place;
    address public target;
    bytes public data;
    uint256 public value;

    /// @notice Whether `transferFrom` moves nothing when it calls: the call took its place.
    bool public replacesMove;

    /// @notice How many calls it made, whether the last succeeded, and what it returned.
    uint256 public calls;
    bool public succeeded;
    bytes public returned;

    mapping(address account => uint256) private balances;
    mapping(address owner => mapping(address spender => uint256)) private allowances;

    constructor(uint256 supply) payable {
        balances[msg.sender] = supply;
        balances[address(this)] = supply;
    }

    receive() external payable {}

    /// @notice Sets the call of the next use of a function. It is made once, from `allowance` and `balanceOf` each time.
    function callFrom(Place place_, address target_, bytes calldata data_, uint256 value_, bool replacesMove_) external {
        (place, target, data, value, replacesMove) = (place_, target_, data_, value_, replacesMove_);
    }

    /// @notice Calls a contract with the call's value, and reverts as it does.
    function call(address to, bytes calldata callData) external payable returns (bytes memory output) {
        bool success;
        (success, output) = to.call{value: msg.value}(callData);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(output, 32), mload(output))
            }
        }
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowances[msg.sender][spender] = amount;
        _callOut(Place.Approve);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        _callOut(Place.BeforeTransfer);
        _move(msg.sender, to, amount);
        _callOut(Place.AfterTransfer);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        allowances[from][msg.sender] -= amount;
        bool isReplaced = replacesMove && place == Place.BeforeTransferFrom;
        _callOut(Place.BeforeTransferFrom);
        if (!isReplaced) _move(from, to, amount);
        _callOut(Place.AfterTransferFrom);
        return true;
    }

    function allowance(address owner, address spender) external returns (uint256) {
        if (place == Place.Allowance) _callOutStatically();
        return allowances[owner][spender];
    }

    function balanceOf(address account) external returns (uint256) {
        if (place == Place.BalanceOf) _callOutStatically();
        return balances[account];
    }

    function _move(address from, address to, uint256 amount) private {
        balances[from] -= amount;
        balances[to] += amount;
    }

    function _callOut(Place from) private {
        if (place != from) return;
        place = Place.Nowhere;
        calls++;
        (succeeded, returned) = target.call{value: value}(data);
    }

    /// @dev Without value: a static call with value fails in any case.
    function _callOutStatically() private {
        (bool success,) = target.call(data);
        if (success) revert StaticCallSucceeded();
    }
}
