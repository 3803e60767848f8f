// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// @title The exhibits of the museum
contract ExhibitCollection is ERC721, Ownable {
    error NotYourExhibit(uint256 exhibitId);
    error NoSuchRoom(uint8 room);

    event Moved(uint256 indexed exhibitId, uint8 room);

    uint8 public constant ROOMS = 24;
    uint256 public lastId;
    mapping(uint256 exhibitId => uint8) public roomOf;

    constructor() ERC721("City Museum Exhibits", "EXH") Ownable(msg.sender) {}

    function mintBatch(address to, uint256 count) external onlyOwner {
        for (uint256 i = 0; i < count; i++) _mint(to, ++lastId);
    }

    /// @notice Moves an exhibit to another room of the museum.
    /// @param exhibitId number of the exhibit
    /// @param room number of the room, 1 to 24
    function moveToRoom(uint256 exhibitId, uint8 room) external {
        if (ownerOf(exhibitId) != msg.sender) revert NotYourExhibit(exhibitId);
        if (room == 0 || room > ROOMS) revert NoSuchRoom(room);
        roomOf[exhibitId] = room;
        emit Moved(exhibitId, room);
    }
}

/// @title Loans between museums
contract ExhibitLoans is Ownable {
    struct Loan {
        address borrower;
        uint16 weeksLeft;
    }

    error NotTheRegistrar(address caller);
    error NotYourExhibit(uint256 exhibitId);
    error AlreadyLent(uint256 exhibitId);
    error NotLent(uint256 exhibitId);
    error TooLong(uint16 numberOfWeeks);
    error NoExhibits();

    event Lent(uint256 indexed exhibitId, address indexed borrower, uint16 numberOfWeeks);
    event Returned(uint256 indexed exhibitId);
    event LoanRequested(address indexed lender, uint256[] exhibitIds);

    uint16 public constant LONGEST_LOAN = 52;

    ExhibitCollection public immutable collection;
    address public registrar;
    mapping(uint256 exhibitId => Loan) private loans;
    mapping(uint256 exhibitId => uint256) public insuredValue;
    mapping(address lender => uint256[]) public requested;

    constructor(ExhibitCollection collection_) Ownable(msg.sender) {
        collection = collection_;
    }

    modifier onlyRegistrar() {
        if (msg.sender != registrar) revert NotTheRegistrar(msg.sender);
        _;
    }

    function setRegistrar(address account) external onlyOwner {
        registrar = account;
    }

    // Loans of the time before this contract.
    function recordLoan(address borrower, uint256 exhibitId, uint16 weeksLeft_) external onlyOwner {
        loans[exhibitId] = Loan(borrower, weeksLeft_);
    }

    /// @notice Lends exhibits of ours to another museum.
    /// @param borrower the museum that gets them
    /// @param exhibitIds numbers of the exhibits
    /// @param numberOfWeeks for how long, 1 to 52
    function lendExhibits(address borrower, uint256[] calldata exhibitIds, uint16 numberOfWeeks) external onlyRegistrar {
        if (exhibitIds.length == 0) revert NoExhibits();
        if (numberOfWeeks == 0 || numberOfWeeks > LONGEST_LOAN) revert TooLong(numberOfWeeks);
        for (uint256 i = 0; i < exhibitIds.length; i++) {
            uint256 id = exhibitIds[i];
            if (collection.ownerOf(id) != msg.sender) revert NotYourExhibit(id);
            if (loans[id].borrower != address(0)) revert AlreadyLent(id);
            loans[id] = Loan(borrower, numberOfWeeks);
            emit Lent(id, borrower, numberOfWeeks);
        }
    }

    /// @notice Records that lent exhibits have come back.
    /// @param exhibitIds numbers of the exhibits
    function returnExhibits(uint256[] calldata exhibitIds) external onlyRegistrar {
        if (exhibitIds.length == 0) revert NoExhibits();
        for (uint256 i = 0; i < exhibitIds.length; i++) {
            _lent(exhibitIds[i]);
            delete loans[exhibitIds[i]];
            emit Returned(exhibitIds[i]);
        }
    }

    /// @notice Extends the loan of an exhibit.
    /// @param exhibitId number of the exhibit
    /// @param moreWeeks by how many weeks
    function extendLoan(uint256 exhibitId, uint16 moreWeeks) external onlyRegistrar {
        Loan storage loan = _lent(exhibitId);
        if (moreWeeks == 0 || loan.weeksLeft + moreWeeks > LONGEST_LOAN) revert TooLong(moreWeeks);
        loan.weeksLeft += moreWeeks;
    }

    /// @notice Asks another museum for the loan of exhibits of theirs.
    /// @param lender the museum that is asked
    /// @param exhibitIds their numbers there
    function requestLoan(address lender, uint256[] calldata exhibitIds) external onlyRegistrar {
        if (exhibitIds.length == 0) revert NoExhibits();
        for (uint256 i = 0; i < exhibitIds.length; i++) requested[lender].push(exhibitIds[i]);
        emit LoanRequested(lender, exhibitIds);
    }

    /// @notice Sets for how much an exhibit is insured.
    /// @param exhibitId number of the exhibit
    /// @param dollars the sum in whole US dollars
    function setInsuredValue(uint256 exhibitId, uint256 dollars) external onlyRegistrar {
        if (collection.ownerOf(exhibitId) != msg.sender) revert NotYourExhibit(exhibitId);
        insuredValue[exhibitId] = dollars;
    }

    /// @notice Tells for how many more weeks an exhibit is on loan.
    /// @param exhibitId number of the exhibit
    function weeksLeft(uint256 exhibitId) external view returns (uint16) {
        return _lent(exhibitId).weeksLeft;
    }

    function _lent(uint256 exhibitId) private view returns (Loan storage loan) {
        loan = loans[exhibitId];
        if (loan.borrower == address(0)) revert NotLent(exhibitId);
    }
}
