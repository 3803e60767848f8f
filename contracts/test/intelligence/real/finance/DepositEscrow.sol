// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.26;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title Holds wei for payees until its owner closes it
/// @dev The rules of OpenZeppelin 4's RefundEscrow, which its version 5 no longer has.
contract DepositEscrow is Ownable {
    /// @notice What may happen: deposits, refunds to payers, or the payment of the beneficiary.
    enum State {
        Active,
        Refunding,
        Closed
    }

    /// @notice The state does not allow the call.
    error WrongState(State state);

    /// @notice What may happen now.
    State public state;

    /// @notice Who is paid when the escrow is closed.
    address payable public immutable beneficiary;

    /// @notice Wei that a payer deposited.
    mapping(address payer => uint256) public depositsOf;

    /// @param owner_ may close the escrow or enable refunds
    /// @param beneficiary_ who is paid when the escrow is closed
    constructor(address owner_, address payable beneficiary_) Ownable(owner_) {
        beneficiary = beneficiary_;
    }

    modifier inState(State needed) {
        if (state != needed) revert WrongState(state);
        _;
    }

    /// @notice Deposits wei in the name of a payer. For the owner.
    function deposit(address payer) external payable onlyOwner inState(State.Active) {
        depositsOf[payer] += msg.value;
    }

    /// @notice Ends deposits in favour of the beneficiary. For the owner.
    function close() external onlyOwner inState(State.Active) {
        state = State.Closed;
    }

    /// @notice Ends deposits in favour of the payers. For the owner.
    function enableRefunds() external onlyOwner inState(State.Active) {
        state = State.Refunding;
    }

    /// @notice Pays the beneficiary. Anybody may call it once the escrow is closed.
    function beneficiaryWithdraw() external inState(State.Closed) {
        Address.sendValue(beneficiary, address(this).balance);
    }

    /// @notice Pays a payer back. Anybody may call it once refunds are enabled.
    function withdraw(address payable payer) external inState(State.Refunding) {
        uint256 due = depositsOf[payer];
        depositsOf[payer] = 0;
        Address.sendValue(payer, due);
    }
}
