// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {ERC165} from "@openzeppelin/contracts/utils/introspection/ERC165.sol";
import {IERCAgentClient} from "../interfaces/IERCAgentClient.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";
import {AbiString} from "../libraries/AbiString.sol";

/// @title Asks a named person, who answers in another transaction
/// @notice An asynchronous tool: only an agent that awaits its tools, as CallbackAgent does, can use it.
contract AskHumanTool is IERCAgentTool, ERC165 {
    /// @dev `asker` is zero once the question is settled.
    struct Question {
        address asker;
        uint64 deadline;
        string text;
    }

    /// @notice An agent asks.
    event QuestionAsked(int256 indexed questionId, address indexed asker, address indexed person, string text, uint256 deadline);

    /// @notice The person answered, or nobody did in time.
    event QuestionSettled(int256 indexed questionId, string answer);

    /// @notice The input is not one parameter of type STRING.
    error UnexpectedInput(string reason);

    /// @notice The question was settled, or never asked.
    error UnknownQuestion(int256 questionId);

    /// @notice Somebody else than the person tried to answer.
    error NotPerson(address caller);

    /// @notice The deadline is over. The question can only expire.
    error TooLate(int256 questionId, uint256 deadline);

    /// @notice The deadline is not over yet.
    error TooEarly(int256 questionId, uint256 deadline);

    /// @notice Who answers.
    address public immutable person;

    /// @notice Seconds in which the person must answer.
    uint32 public immutable timeout;

    string public name;
    string public description;

    /// @notice How many questions were asked; the last one's number.
    int256 public questionCount;

    mapping(int256 questionId => Question) private questions;

    /// @param _person who answers
    /// @param _timeout seconds in which the person must answer
    /// @param _name the tool's name, for example "AskOwner"
    /// @param _description the tool's description, for example "Ask the owner when the instruction is not clear"
    constructor(address _person, uint32 _timeout, string memory _name, string memory _description) {
        person = _person;
        timeout = _timeout;
        name = _name;
        description = _description;
    }

    /// @inheritdoc IERCAgentTool
    function inputDescription() external pure returns (IERCAgentTool.InputDescription memory) {
        IERCAgentTool.ParamDescription[] memory params = new IERCAgentTool.ParamDescription[](1);
        params[0] = IERCAgentTool.ParamDescription(IERCAgentTool.ParamType.STRING, "question", "the question to ask");
        return IERCAgentTool.InputDescription(params);
    }

    /// @notice Asks the person. The answer goes to the caller, whatever result handler it names.
    /// @return runId the question's number
    /// @return result empty
    function run(IERCAgentTool.Input memory input, address) external returns (int256 runId, string memory result) {
        if (input.params.length != 1) revert UnexpectedInput("one parameter expected");
        if (input.params[0].paramType != IERCAgentTool.ParamType.STRING) revert UnexpectedInput("a STRING expected");
        if (!AbiString.isAt(input.params[0].value, 0)) revert UnexpectedInput("value is not an ABI-encoded string");
        string memory text = abi.decode(input.params[0].value, (string));

        runId = ++questionCount;
        uint64 deadline = uint64(block.timestamp) + timeout;
        questions[runId] = Question(msg.sender, deadline, text);
        emit QuestionAsked(runId, msg.sender, person, text, deadline);
        return (runId, "");
    }

    /// @notice Answers a question. For the person, before the deadline. Reverts if the asker does not take the answer.
    function respond(int256 questionId, string calldata answer) external {
        if (msg.sender != person) revert NotPerson(msg.sender);
        Question storage question = questions[questionId];
        if (question.asker == address(0)) revert UnknownQuestion(questionId);
        if (block.timestamp > question.deadline) revert TooLate(questionId, question.deadline);
        _settle(questionId, answer);
    }

    /// @notice Ends a question after its deadline; the asker is told so. For everybody.
    function expire(int256 questionId) external {
        Question storage question = questions[questionId];
        if (question.asker == address(0)) revert UnknownQuestion(questionId);
        if (block.timestamp <= question.deadline) revert TooEarly(questionId, question.deadline);
        _settle(questionId, "FAILED: nobody answered in time");
    }

    /// @notice Returns a question that waits for its answer: who asked, until when, what.
    function questionOf(int256 questionId) external view returns (address asker, uint256 deadline, string memory text) {
        Question storage question = questions[questionId];
        return (question.asker, question.deadline, question.text);
    }

    /// @notice Tells which interfaces this tool has.
    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == type(IERCAgentTool).interfaceId || super.supportsInterface(interfaceId);
    }

    function _settle(int256 questionId, string memory answer) private {
        address asker = questions[questionId].asker;
        delete questions[questionId];
        emit QuestionSettled(questionId, answer);
        IERCAgentClient(asker).handleAgentResult(questionId, answer);
    }
}
