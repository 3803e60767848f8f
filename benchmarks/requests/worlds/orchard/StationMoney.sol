// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title A token of the station: money, or thanks to listeners
contract StationToken is ERC20, Ownable {
    uint8 private immutable _places;

    constructor(string memory name_, string memory symbol_, uint8 places) ERC20(name_, symbol_) Ownable(msg.sender) {
        _places = places;
    }

    function decimals() public view override returns (uint8) {
        return _places;
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @title What the station owes to artists for the music it played
contract Royalties is Ownable {
    using SafeERC20 for IERC20;

    event Played(address indexed artist, uint256 fee);
    event Settled(address indexed artist, uint256 amount);

    IERC20 public immutable currency;
    mapping(address artist => uint256) private _owed;

    constructor(IERC20 currency_) Ownable(msg.sender) {
        currency = currency_;
    }

    /// @notice Notes that music was played
    function notePlay(address artist, uint256 fee) external onlyOwner {
        _owed[artist] += fee;
        emit Played(artist, fee);
    }

    /// @notice Settles the royalties of an artist: pays all that is owed
    /// @param artist who gets the royalties
    /// @return amount what was paid
    function settle(address artist) external returns (uint256 amount) {
        amount = _owed[artist];
        require(amount > 0, "nothing owed");
        _owed[artist] = 0;
        currency.safeTransferFrom(msg.sender, artist, amount);
        emit Settled(artist, amount);
    }

    /// @notice Tells how much royalties an artist has not been paid yet
    /// @param artist whose royalties
    function owed(address artist) external view returns (uint256) {
        return _owed[artist];
    }
}

/// @title Money that is put aside for repairs
contract ReserveFund {
    using SafeERC20 for IERC20;

    event Deposited(address indexed from, uint256 amount);
    event Withdrawn(address indexed to, uint256 amount);

    IERC20 public immutable currency;
    mapping(address account => uint256) public saved;

    constructor(IERC20 currency_) {
        currency = currency_;
    }

    /// @notice Puts money into the reserve
    /// @param amount how much
    function deposit(uint256 amount) external {
        require(amount > 0, "nothing deposited");
        saved[msg.sender] += amount;
        currency.safeTransferFrom(msg.sender, address(this), amount);
        emit Deposited(msg.sender, amount);
    }

    /// @notice Takes money out of the reserve
    /// @param amount how much
    function withdraw(uint256 amount) external {
        require(amount > 0 && amount <= saved[msg.sender], "not so much saved");
        saved[msg.sender] -= amount;
        currency.safeTransfer(msg.sender, amount);
        emit Withdrawn(msg.sender, amount);
    }
}

contract MastLease is Ownable {
    error WrongMonth(uint8 month);
    error NothingPaid();

    event RentPaid(address indexed tenant, uint8 month, uint256 amount);

    mapping(uint8 month => uint256) public paid;

    constructor() Ownable(msg.sender) {}

    function payRent(uint8 month) external payable {
        if (month == 0 || month > 12) revert WrongMonth(month);
        if (msg.value == 0) revert NothingPaid();
        paid[month] += msg.value;
        emit RentPaid(msg.sender, month, msg.value);
    }

    function collect(address payable to) external onlyOwner {
        (bool sent,) = to.call{value: address(this).balance}("");
        require(sent);
    }
}
