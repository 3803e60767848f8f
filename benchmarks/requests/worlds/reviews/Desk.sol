// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERCAgentTool} from "contracts/interfaces/IERCAgentTool.sol";
import {ToolResultConverter} from "contracts/interfaces/ToolResultConverter.sol";
import {HelperAgent} from "benchmarks/requests/worlds/club/HelperAgent.sol";
import {TextResult} from "benchmarks/requests/worlds/club/TextResult.sol";

/// @title Hands on a text that a function returns
contract Texts is TextResult {}

/// @title Writes a number that a function returns
contract Numbers is ToolResultConverter {
    function convertToString(bytes memory result) external pure returns (string memory) {
        return Strings.toString(abi.decode(result, (uint256)));
    }
}

/// @title An agent that works for other agents
contract Helper is HelperAgent {
    constructor(
        address executor,
        string memory model,
        string memory name_,
        string memory description_,
        string memory inputDescription_,
        string memory prompt,
        IERCAgentTool[] memory tools_,
        uint16 maxIterations
    ) HelperAgent(executor, model, name_, description_, inputDescription_, prompt, tools_, maxIterations) {}
}

/// @title Ether that tools pay out
contract Purse {
    error Refused(address to);

    function fund() external payable {}

    function pay(address payable to, uint256 amount) public {
        (bool success,) = to.call{value: amount}("");
        if (!success) revert Refused(to);
    }

    function payGwei(address payable to, uint256 amount) external {
        pay(to, amount * 1 gwei);
    }
}

/// @title A notebook with one page for each kind of value
contract Notebook {
    string[] public texts;
    string[] public tags;
    uint256[] public numbers;
    int256[] public temperatures;
    bool[] public switches;
    address[] public readers;
    address public holder;
    bool public isOpen;
    int256 public level;
    uint256 public count;

    function writeNote(string calldata text) external {
        texts.push(text);
    }

    function setTags(string[] memory newTags) external {
        tags = newTags;
    }

    function noteNumbers(uint256[] calldata newNumbers) external {
        numbers = newNumbers;
    }

    function noteTemperatures(int256[] calldata newTemperatures) external {
        temperatures = newTemperatures;
    }

    function setSwitches(bool[] calldata newSwitches) external {
        switches = newSwitches;
    }

    function setReaders(address[] calldata newReaders) external {
        readers = newReaders;
    }

    function setHolder(address newHolder) external {
        holder = newHolder;
    }

    function setOpen(bool open) external {
        isOpen = open;
    }

    function setLevel(int256 newLevel) external {
        level = newLevel;
    }

    function setCount(uint256 newCount) external {
        count = newCount;
    }
}

/// @title Books that are lent and come back
contract Shelf {
    error NotOnShelf(string title);
    error NotLent(string title);

    mapping(bytes32 => bool) private isOnShelf;
    mapping(bytes32 => bool) private isLent;
    uint256 public loans;

    constructor(string[] memory titles) {
        for (uint256 i = 0; i < titles.length; i++) isOnShelf[keccak256(bytes(titles[i]))] = true;
    }

    function lend(string calldata title) external {
        bytes32 id = keccak256(bytes(title));
        if (!isOnShelf[id]) revert NotOnShelf(title);
        (isOnShelf[id], isLent[id]) = (false, true);
        loans++;
    }

    function giveBack(string calldata title) external {
        bytes32 id = keccak256(bytes(title));
        if (!isLent[id]) revert NotLent(title);
        (isOnShelf[id], isLent[id]) = (true, false);
    }
}

/// @title Lends euros up to a limit
contract LoanDesk {
    error AboveLimit(uint256 euros);

    uint256 public lent;

    function lend(uint256 euros) external {
        if (euros > 5000) revert AboveLimit(euros);
        lent += euros;
    }
}

/// @title Proposals with a score, and the money for them
contract Proposals {
    error ScoreTooLow(uint256 id);

    uint256[3] private scores = [74, 41, 66];
    mapping(uint256 id => uint256) public paid;

    function rate(uint256 id) external view returns (uint256) {
        return scores[id];
    }

    function pay(uint256 id) external {
        if (scores[id] < 60) revert ScoreTooLow(id);
        paid[id] += 900;
    }
}

/// @title Things around the house
contract House {
    error TooLong(uint256 numberOfHours);

    uint256 public volume = 10;
    uint256 public counter;
    mapping(uint256 bench => uint256) public reservedHours;
    uint256 public wateredHours;
    string[] public reports;

    function turnUp(uint256 by) external {
        volume += by;
    }

    function turnDown(uint256 by) external {
        volume -= by;
    }

    function reserveBench(uint256 bench, uint256 numberOfHours) external {
        if (numberOfHours > 8) revert TooLong(numberOfHours);
        reservedHours[bench] = numberOfHours;
    }

    function water(uint256 numberOfHours) external {
        wateredHours += numberOfHours;
    }

    function reportLost(string calldata thing) external {
        reports.push(thing);
    }

    function count(uint256 by) external {
        counter += by;
    }
}

/// @title A desk that holds assets or cash
contract TradingDesk {
    error NothingToTrade();

    bool public holdsAssets = true;

    function sellAll() external {
        if (!holdsAssets) revert NothingToTrade();
        holdsAssets = false;
    }

    function buyAll() external {
        if (holdsAssets) revert NothingToTrade();
        holdsAssets = true;
    }
}

/// @title What gauges at the river say
contract Gauges is Ownable {
    mapping(bytes32 place => bool) private isFlooded;

    constructor() Ownable(msg.sender) {}

    function setFlooded(string calldata place) external onlyOwner {
        isFlooded[keccak256(bytes(place))] = true;
    }

    function wasFlooded(string calldata place) external view returns (string memory) {
        return isFlooded[keccak256(bytes(place))] ? "yes" : "no";
    }
}

/// @title How much water a garden needs
contract WaterNeed {
    // of whole numbers; the tool's description admits decimals
    function compute(string calldata moisture, string calldata temperature, uint256 dryDays)
        external
        pure
        returns (uint256 litres)
    {
        return 2 * Strings.parseUint(temperature) + 3 * dryDays + 60 - Strings.parseUint(moisture);
    }
}
