// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

contract WarChest {
    mapping(address => uint256) public balances;

    event Deposited(address indexed account, uint256 amount);
    event Withdrawn(address indexed account, uint256 amount);

    function deposit() external payable {
        require(msg.value > 0, "nothing deposited");
        balances[msg.sender] += msg.value;
        emit Deposited(msg.sender, msg.value);
    }

    function depositFor(address account) external payable {
        balances[account] += msg.value;
        emit Deposited(account, msg.value);
    }

    function withdraw(uint256 amount) external {
        require(amount <= balances[msg.sender], "balance too low");
        balances[msg.sender] -= amount;
        (bool ok,) = msg.sender.call{value: amount}("");
        require(ok, "transfer failed");
        emit Withdrawn(msg.sender, amount);
    }
}

contract Payroll {
    event Paid(address indexed member, uint256 amount, string memo);

    mapping(address => uint256) public totalPaid;
    mapping(address => string) public lastMemo;

    function payMember(address payable member, string calldata memo) external payable {
        require(msg.value > 0, "no pay");
        totalPaid[member] += msg.value;
        lastMemo[member] = memo;
        (bool ok,) = member.call{value: msg.value}("");
        require(ok, "transfer failed");
        emit Paid(member, msg.value, memo);
    }
}
