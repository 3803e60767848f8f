// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";

contract EuroCoin is ERC20, Ownable {
    constructor(address owner) ERC20("Euro Coin", "EURC") Ownable(owner) {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

contract Cashbox is Ownable {
    using SafeERC20 for IERC20Metadata;

    error NotPayer(address caller);

    event Paid(address indexed payee, uint256 amount, bool isToken);

    IERC20Metadata public immutable currency;
    mapping(address => bool) public isPayer;

    constructor(address owner, IERC20Metadata _currency) Ownable(owner) {
        currency = _currency;
    }

    receive() external payable {}

    function deposit() external payable {}

    function setPayer(address payer, bool allowed) external onlyOwner {
        isPayer[payer] = allowed;
    }

    // in whole tokens
    function payToken(address payee, uint256 amount) external {
        if (!isPayer[msg.sender]) revert NotPayer(msg.sender);
        currency.safeTransfer(payee, amount * 10 ** currency.decimals());
        emit Paid(payee, amount, true);
    }

    function payEther(address payable payee, uint256 amount) external {
        if (!isPayer[msg.sender]) revert NotPayer(msg.sender);
        Address.sendValue(payee, amount);
        emit Paid(payee, amount, false);
    }

    // whole tokens that are left
    function balance() external view returns (uint256) {
        return currency.balanceOf(address(this)) / 10 ** currency.decimals();
    }
}

contract Register {
    mapping(uint256 => string[]) private shelves;

    function file(string calldata title, uint256 shelf) external {
        require(shelf > 0 && shelf <= 60, "no such shelf");
        shelves[shelf].push(title);
    }
}

// A number, with what it counts behind it
contract NumberConverter is ToolResultConverter {
    string public unit;

    constructor(string memory _unit) {
        unit = _unit;
    }

    function convertToString(bytes memory result) external view returns (string memory) {
        return string.concat(Strings.toStringSigned(abi.decode(result, (int256))), unit);
    }
}
