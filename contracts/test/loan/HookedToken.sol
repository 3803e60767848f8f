// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that can be made hostile
/// @notice Anybody mints and changes it. It can keep a fee of each transfer, refuse transfers, or call a contract in them.
contract HookedToken is ERC20 {
    /// @notice Transfers are refused.
    error Stopped();

    uint8 private immutable _decimals;

    /// @notice Base units that a transfer loses on its way.
    uint256 public fee;

    bool public isStopped;

    /// @notice What a transfer calls, before it moves anything.
    address public target;
    bytes public data;

    /// @notice Whether that call succeeded the last time, and its return or revert data.
    bool public succeeded;
    bytes public output;

    constructor(string memory symbol_, uint8 decimals_) ERC20(symbol_, symbol_) {
        _decimals = decimals_;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function setFee(uint256 _fee) external {
        fee = _fee;
    }

    function setStopped(bool _isStopped) external {
        isStopped = _isStopped;
    }

    function setHook(address _target, bytes calldata _data) external {
        (target, data) = (_target, _data);
    }

    /// @inheritdoc ERC20
    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    function _update(address from, address to, uint256 amount) internal override {
        if (from == address(0)) return super._update(from, to, amount);
        if (isStopped) revert Stopped();
        if (target != address(0)) (succeeded, output) = target.call(data);
        super._update(from, to, amount);
        if (fee != 0) super._update(to, address(0), fee);
    }
}
