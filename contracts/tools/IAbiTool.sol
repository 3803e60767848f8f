// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.24;

import {AbiText} from "../libraries/AbiText.sol";
import {IAgentAccount} from "../interfaces/IAgentAccount.sol";
import {IERCAgentTool} from "../interfaces/IERCAgentTool.sol";

/// @title One function of one contract as a tool, made of data
/// @notice The parameters of the function are flattened: a tuple outside of arrays becomes its members, so that each
///   has a source of its own. What is left are the arguments, in order.
interface IAbiTool is IERCAgentTool {
    /// @notice Where the value of an argument comes from.
    /// @dev MODEL: the model chooses it, as a parameter of the tool. ACCOUNT: the agent's account. DEADLINE: the
    ///   block's time plus `number` seconds. MINIMUM: what the call pays out when it is tried, less `number` basis
    ///   points. FIXED: `fixedValue`.
    enum Source {
        MODEL,
        ACCOUNT,
        DEADLINE,
        MINIMUM,
        FIXED
    }

    /// @notice An argument of the function.
    /// @param name its path, such as `order.token`, for errors
    /// @param source where its value comes from
    /// @param number seconds or basis points; else 0
    /// @param fixedValue `abi.encode` of the single value; else empty
    /// @param limits what the model may choose: every integer and every address in the argument. An argument with
    ///   forbidden addresses is a recipient: it may not be a token that another argument names either
    struct Argument {
        string name;
        Source source;
        uint256 number;
        bytes fixedValue;
        AbiText.Limits limits;
    }

    /// @notice The wei that go with the call.
    /// @param isChosen whether the model chooses them, as the tool's last parameter, a UINT
    /// @param least the wei of every call; if the model chooses, the least
    /// @param most if the model chooses, the most
    struct CallValue {
        bool isChosen;
        uint256 least;
        uint256 most;
    }

    /// @notice What an approval allows.
    /// @dev AMOUNT: an amount of an ERC-20 token. ITEM: items of an ERC-721 token, each by `approve`. ALL: all items
    ///   of an ERC-721 or ERC-1155 token, by `setApprovalForAll`.
    enum ApprovalKind {
        AMOUNT,
        ITEM,
        ALL
    }

    /// @notice An approval that the call needs. The tool takes back what it gave and the call did not use.
    /// @param kind what it allows
    /// @param token the token
    /// @param spender who may take it
    /// @param isDerived true: the tool approves first, if the allowance is too low. False: the tool refuses the call
    ///   if the allowance is too low
    /// @param isMeasured whether only the contract knows the amount: the tool tries the call, undoes it, and approves
    ///   what it took
    /// @param amount base units; unused if an argument has the amount, or if it is measured
    /// @param amountArgument the argument, counted from 1, with the amount or the item's ID, or a list of them, whose
    ///   sum is the amount; 0 for none
    /// @param tokenArgument an argument, counted from 1, of tokens: the approval is needed only if the first one is
    ///   the token, such as a path's. Of a list of amounts, those whose token is this one count; 0 for none
    struct Approval {
        ApprovalKind kind;
        address token;
        address spender;
        bool isDerived;
        bool isMeasured;
        uint256 amount;
        uint256 amountArgument;
        uint256 tokenArgument;
    }

    /// @notice An output of the function, as its sentence needs it.
    /// @param name its name; empty for none
    /// @param symbol the unit of its integers; empty for none, and then they are plain numbers
    /// @param decimals how many decimals the unit has
    /// @param unitArgument an argument, counted from 1, of tokens in whose units the output is: item by item if both
    ///   are lists of equal length, else the last one. Symbol and decimals are asked from the token. 0 for none
    struct Output {
        string name;
        string symbol;
        uint8 decimals;
        uint256 unitArgument;
    }

    /// @notice The call that a tool makes.
    /// @param account the account that makes the call
    /// @param target the contract
    /// @param selector the function
    /// @param inputTypes types of the parameters as a tuple, such as `(address,uint256)`; `()` for none
    /// @param outputTypes types of the outputs
    /// @param arguments the arguments, a source for each
    /// @param value the wei
    /// @param approvals what the call needs
    /// @param outputs one for each output type
    /// @param minimumOutput for an argument of source MINIMUM, the output that it bounds: an integer, or the last item
    ///   of a list of integers
    /// @param mustReturnTrue whether the only output is a bool that tells success, as in ERC-20: a call that returns
    ///   false counts as failed, and one that returns true or nothing as done
    struct Call {
        address account;
        address target;
        bytes4 selector;
        string inputTypes;
        string outputTypes;
        Argument[] arguments;
        CallValue value;
        Approval[] approvals;
        Output[] outputs;
        uint256 minimumOutput;
        bool mustReturnTrue;
    }

    /// @notice Everything about a tool.
    /// @param name the tool's name
    /// @param description what the tool does
    /// @param input the tool's parameters: the arguments that the model chooses, in order, then the wei
    /// @param call the call that it makes
    struct Spec {
        string name;
        string description;
        InputDescription input;
        Call call;
    }

    /// @notice Somebody else than the account's agent tried to run the tool.
    error NotAgent(address caller);

    /// @notice The data of a tool do not fit together.
    /// @param argument the argument, counted from 1; 0 where no single one is wrong
    error MalformedSpec(uint256 argument, string reason);

    /// @notice The input has not the parameters of the tool's input description.
    error UnexpectedInput(string parameter, string reason);

    /// @notice The call reverted when it was tried to learn what it pays out.
    /// @param reason the account's revert data
    error TrialFailed(address target, bytes4 selector, bytes reason);

    /// @notice The call returned something else than its output types say.
    error MalformedOutput(address target, bytes4 selector, uint256 size);

    /// @notice The call paid out less than when it was tried, less the slippage.
    error OutputBelowMinimum(uint256 output, uint256 minimum);

    /// @notice The call returned false.
    error CallReturnedFalse(address target, bytes4 selector);

    /// @notice The account's allowance is too low, and the tool does not approve.
    error AllowanceTooLow(address token, address spender, uint256 allowance, uint256 needed);

    /// @notice The token refused the approval.
    error ApprovalFailed(address token, address spender, bytes reason);

    /// @notice Carries what a tried call did out of the frame that is undone.
    /// @param output what it returned
    /// @param taken base units that it took of each token whose approval is measured
    error Tried(bytes output, uint256[] taken);

    /// @notice Only the tool itself tries calls.
    error NotSelf(address caller);

    /// @notice The implementation behind the tools is no tool.
    error NotTool();

    /// @notice Returns the data that the tool is made of.
    function spec() external view returns (Spec memory);

    /// @notice Returns the calls for which the account has to register the tool.
    function permissions() external view returns (IAgentAccount.Permission[] memory);
}
