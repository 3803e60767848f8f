// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.28;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {RunOutcome} from "../../libraries/RunOutcome.sol";
import {BorrowerRecord, ILoanDesk} from "./ILoanDesk.sol";
import {ILoanAgent} from "./ILoanAgent.sol";
import {ILoanPolicy} from "./ILoanPolicy.sol";
import {IScoreBook} from "./IScoreBook.sol";

/// @title Lends a currency against collateral; an agent decides on applications within the policy's limits
/// @notice `requestLoan` is one transaction: it takes the collateral, lets the agent judge the applicant, and pays out or
///   sends the collateral back. The agent's model only chooses between approval and denial. Whatever it says:
///   - a payout goes to the account that sent the application, once, and is the amount that it asked for;
///   - without every check that the policy requires, or with a score below its limit, an approval reverts, and with it the
///     whole request;
///   - no loan is above the policy's largest one, or with less collateral than it asks for.
///   Lenders hold shares (ERC-4626). Interest is simple, counted by the second.
/// @dev What lenders own is counted, not measured, so tokens that somebody sends here change no share's price.
contract LendingPool is ILoanDesk, ERC4626, Ownable, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @notice A loan that is neither repaid nor sold; zeros otherwise.
    /// @param borrower who got the currency, and gets the collateral back
    /// @param startedAt when it was paid out, in Unix seconds
    /// @param dueAt the last second in which it is repaid on time
    /// @param rateBps interest of a year, in hundredths of a percent
    /// @param principal in base units of the currency
    /// @param collateral in base units of its token
    struct Loan {
        address borrower;
        uint40 startedAt;
        uint40 dueAt;
        uint16 rateBps;
        uint128 principal;
        uint128 collateral;
    }

    /// @dev What `recordOf` can't compute from open loans.
    struct Tally {
        uint32 loans;
        uint32 repaid;
        uint32 late;
        uint32 defaulted;
        uint32 denied;
        uint40 firstLoanAt;
        uint128 borrowed;
        uint128 repaidAmount;
    }

    enum Decision {
        NONE,
        APPROVED,
        DENIED
    }

    /// @notice An application was opened.
    event ApplicationOpened(
        uint256 indexed id, address indexed applicant, uint256 amount, uint256 collateral, uint256 criteriaVersion
    );

    /// @notice An application was decided.
    /// @param score 0 to 100; 0 if no check was made
    /// @param checks a bit for each check that was made
    event ApplicationDecided(
        uint256 indexed id, address indexed applicant, bool approved, uint256 score, uint256 checks
    );

    /// @notice A loan was paid out. Its number is its application's.
    event LoanPaid(uint256 indexed id, address indexed borrower, uint256 principal, uint256 collateral, uint256 dueAt);

    /// @notice A loan was repaid.
    event LoanRepaid(uint256 indexed id, address indexed borrower, uint256 amount, bool isLate);

    /// @notice The collateral of a defaulted loan was sold.
    /// @param price what the buyer paid
    /// @param surplus of it, which is the borrower's
    /// @param loss of the lenders
    event LoanSold(uint256 indexed id, address indexed borrower, address buyer, uint256 price, uint256 surplus, uint256 loss);

    /// @notice The agent and its tools were named.
    event AgentSet(address agent, address approver, address denier, address book);

    /// @notice A borrower took the surplus of a sale.
    event SurplusTaken(address indexed borrower, uint256 amount);

    /// @notice The owner hasn't named an agent.
    error AgentMissing();

    /// @notice The agent's run ended without a decision.
    error Undecided(string answer);

    /// @notice The pool has less of the currency than the loan.
    error InsufficientLiquidity(uint256 amount, uint256 available);

    /// @notice The applicant has as many open loans as one account may have.
    error TooManyLoans(address applicant, uint256 limit);

    /// @notice Another amount arrived than was sent: a token with a fee on transfers.
    error AmountDiffers(address token, uint256 expected, uint256 received);

    /// @notice The loan was repaid or sold, or there never was one.
    error NoSuchLoan(uint256 id);

    /// @notice The collateral can be sold after this time.
    error NotDefaulted(uint256 id, uint256 until);

    /// @notice The collateral's price is above what the buyer pays at most.
    error PriceAboveLimit(uint256 price, uint256 limit);

    /// @notice Seconds after a loan's term in which it can be repaid, late, and isn't sold.
    uint256 public constant GRACE = 3 days;

    /// @notice Seconds in which the price of a defaulted loan's collateral falls to zero.
    uint256 public constant SALE = 2 days;

    /// @notice The price begins at this multiple of the debt: above what most collateral is worth.
    uint256 public constant FIRST_PRICE = 3;

    /// @notice Open loans of an account. Bounds the gas of `recordOf`.
    uint256 public constant MAX_OPEN_LOANS = 8;

    uint256 private constant BPS = 10_000;
    uint256 private constant YEAR = 365 days;

    /// @dev A share is a millionth of a base unit at first, so rounding costs a lender nothing that matters.
    uint8 private constant SHARE_DIGITS = 6;

    /// @inheritdoc ILoanDesk
    ILoanPolicy public immutable policy;

    /// @notice The token that loans are secured with.
    IERC20 public immutable collateralToken;

    uint256 private immutable collateralUnit;

    /// @notice Decides on applications.
    ILoanAgent public agent;

    /// @notice The only contract that may approve.
    address public approver;

    /// @notice The only contract that may deny.
    address public denier;

    /// @notice Has the scores.
    IScoreBook public book;

    /// @notice The number of the last application.
    uint256 public applicationCount;

    /// @notice Currency of the lenders that is not lent.
    uint256 public idle;

    /// @notice Principal of all open loans.
    uint256 public lent;

    /// @dev Sums over all open loans of principal times rate, and of that times the start.
    uint256 private rateSum;
    uint256 private startSum;

    /// @notice What borrowers can take: the surplus of sales.
    mapping(address borrower => uint256) public surplusOf;

    mapping(uint256 id => Loan) private loans;
    mapping(address borrower => Tally) private tallies;
    mapping(address borrower => uint256[]) private openLoans;

    /// @dev The open application, until it is decided.
    uint256 private transient openId;
    address private transient openApplicant;
    uint256 private transient openAmount;
    uint256 private transient openCollateral;
    uint256 private transient openVersion;
    Decision private transient decision;

    /// @param owner names the agent and its tools: a timelock, in the end
    /// @param _policy the limits
    /// @param currency what is lent
    /// @param _collateralToken what loans are secured with
    constructor(address owner, ILoanPolicy _policy, IERC20Metadata currency, IERC20Metadata _collateralToken)
        ERC20(string.concat("Lent ", currency.symbol()), string.concat("l", currency.symbol()))
        ERC4626(currency)
        Ownable(owner)
    {
        policy = _policy;
        collateralToken = _collateralToken;
        collateralUnit = 10 ** uint256(_collateralToken.decimals());
    }

    /// @notice Names the agent, the tools that decide, and the book with the scores. For the owner.
    function setAgent(ILoanAgent _agent, address _approver, address _denier, IScoreBook _book) external onlyOwner {
        (agent, approver, denier, book) = (_agent, _approver, _denier, _book);
        emit AgentSet(address(_agent), _approver, _denier, address(_book));
    }

    // Applications

    /// @notice Applies for a loan. Allow the pool to take the collateral first. The result is in force when this returns:
    ///   the currency is paid out, or the collateral is back.
    /// @dev Whatever reverts in the agent's run reverts the request.
    /// @param amount of the currency, in base units
    /// @param collateral in base units of its token
    /// @param application what the applicant says. It reaches the agent as data.
    /// @return approved whether the loan was paid out
    /// @return answer the agent's last words
    function requestLoan(uint256 amount, uint256 collateral, string calldata application)
        external
        nonReentrant
        returns (bool approved, string memory answer)
    {
        if (address(agent) == address(0)) revert AgentMissing();
        if (openLoans[msg.sender].length == MAX_OPEN_LOANS) revert TooManyLoans(msg.sender, MAX_OPEN_LOANS);
        if (amount > idle) revert InsufficientLiquidity(amount, idle);
        _take(collateralToken, msg.sender, collateral);
        uint256 id = ++applicationCount;
        _open(Application(id, msg.sender, amount, collateral, policy.criteriaVersion()));
        answer = agent.decide(application);
        RunOutcome.requireDone(answer);
        approved = _close(id, answer);
        if (approved) {
            _payOut(id, amount, collateral);
        } else {
            tallies[msg.sender].denied++;
            collateralToken.safeTransfer(msg.sender, collateral);
        }
    }

    /// @inheritdoc ILoanDesk
    function approve() external {
        Application memory opened = _decidedBy(approver);
        _requireWithinTerms(opened);
        (bool exists, uint8 value, uint256 checks) = book.score(opened.id);
        if (!exists) revert ScoreMissing(opened.id);
        uint256 missing = policy.requiredChecks() & ~checks;
        if (missing != 0) revert MissingChecks(missing, book.namesOf(missing));
        uint256 limit = policy.scoreLimit();
        if (value < limit) revert ScoreBelowLimit(value, limit);
        decision = Decision.APPROVED;
    }

    /// @inheritdoc ILoanDesk
    function deny() external {
        _decidedBy(denier);
        decision = Decision.DENIED;
    }

    /// @inheritdoc ILoanDesk
    function openApplication() public view returns (Application memory) {
        if (openId == 0 || decision != Decision.NONE) revert NoOpenApplication();
        return Application(openId, openApplicant, openAmount, openCollateral, openVersion);
    }

    // Loans

    /// @notice Repays a loan: principal and interest of the second. The collateral goes back to the borrower. Anybody may.
    /// @return amount what was paid
    function repay(uint256 id) external nonReentrant returns (uint256 amount) {
        Loan memory loan = _loan(id);
        amount = debtOf(id);
        bool isLate = block.timestamp > loan.dueAt;
        _remove(id, loan);
        idle += amount;
        Tally storage tally = tallies[loan.borrower];
        tally.repaid++;
        if (isLate) tally.late++;
        tally.repaidAmount += uint128(amount);
        emit LoanRepaid(id, loan.borrower, amount, isLate);
        _take(IERC20(asset()), msg.sender, amount);
        collateralToken.safeTransfer(loan.borrower, loan.collateral);
    }

    /// @notice Buys the collateral of a loan whose grace period is over. Anybody may. The lenders get the price up to the
    ///   debt, the borrower the rest.
    /// @param limit the highest price that the buyer pays
    /// @return price what was paid
    function liquidate(uint256 id, uint256 limit) external nonReentrant returns (uint256 price) {
        Loan memory loan = _loan(id);
        uint256 debt = debtOf(id);
        price = priceOf(id);
        if (price > limit) revert PriceAboveLimit(price, limit);
        _remove(id, loan);
        uint256 kept = Math.min(price, debt);
        idle += kept;
        surplusOf[loan.borrower] += price - kept;
        tallies[loan.borrower].defaulted++;
        emit LoanSold(id, loan.borrower, msg.sender, price, price - kept, debt - kept);
        _take(IERC20(asset()), msg.sender, price);
        collateralToken.safeTransfer(msg.sender, loan.collateral);
    }

    /// @notice Takes the surplus of sales. For borrowers.
    function takeSurplus() external nonReentrant returns (uint256 amount) {
        amount = surplusOf[msg.sender];
        surplusOf[msg.sender] = 0;
        emit SurplusTaken(msg.sender, amount);
        IERC20(asset()).safeTransfer(msg.sender, amount);
    }

    /// @notice Returns the least collateral of a loan, in base units of its token, rounded up.
    function collateralFor(uint256 amount) public view returns (uint256) {
        uint256 worth = amount * policy.collateralBps();
        return Math.mulDiv(worth, collateralUnit, policy.collateralPrice() * BPS, Math.Rounding.Ceil);
    }

    /// @notice Returns an open loan.
    function loanOf(uint256 id) external view returns (Loan memory) {
        return _loan(id);
    }

    /// @notice Returns the numbers of an account's open loans.
    function openLoansOf(address borrower) external view returns (uint256[] memory) {
        return openLoans[borrower];
    }

    /// @notice Returns principal and interest of a loan now. The interest is rounded up.
    function debtOf(uint256 id) public view returns (uint256) {
        Loan memory loan = _loan(id);
        uint256 weight = uint256(loan.principal) * loan.rateBps;
        return loan.principal + Math.ceilDiv(weight * (block.timestamp - loan.startedAt), BPS * YEAR);
    }

    /// @notice Returns what the collateral of a defaulted loan costs now. It falls evenly from `FIRST_PRICE` times the debt
    ///   to zero, and is rounded up. Without collateral it is zero: then `liquidate` writes the loan off.
    function priceOf(uint256 id) public view returns (uint256) {
        Loan memory loan = _loan(id);
        uint256 until = loan.dueAt + GRACE;
        if (block.timestamp <= until) revert NotDefaulted(id, until);
        uint256 passed = block.timestamp - until;
        if (loan.collateral == 0 || passed >= SALE) return 0;
        return Math.ceilDiv(FIRST_PRICE * debtOf(id) * (SALE - passed), SALE);
    }

    /// @inheritdoc ILoanDesk
    function recordOf(address borrower) external view returns (BorrowerRecord memory record) {
        Tally memory tally = tallies[borrower];
        (record.loans, record.repaid, record.late) = (tally.loans, tally.repaid, tally.late);
        (record.defaulted, record.denied) = (tally.defaulted, tally.denied);
        (record.borrowed, record.repaidAmount) = (tally.borrowed, tally.repaidAmount);
        record.firstLoanAt = tally.firstLoanAt;
        uint256[] memory ids = openLoans[borrower];
        record.open = ids.length;
        for (uint256 i = 0; i < ids.length; i++) {
            record.debt += debtOf(ids[i]);
            if (block.timestamp > loans[ids[i]].dueAt + GRACE) record.defaulted++;
        }
    }

    // Lenders

    /// @notice Returns what the lenders own: currency, principal of open loans, and their interest until now.
    /// @dev A loan counts in full until it is sold; then its loss is everybody's who holds shares.
    /// @inheritdoc ERC4626
    function totalAssets() public view override returns (uint256) {
        return idle + lent + (rateSum * block.timestamp - startSum) / (BPS * YEAR);
    }

    /// @notice Returns how many shares an account can redeem: no more than the currency that is not lent is worth.
    /// @inheritdoc ERC4626
    function maxRedeem(address owner) public view override returns (uint256) {
        return Math.min(balanceOf(owner), _convertToShares(idle, Math.Rounding.Floor));
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        super._deposit(caller, receiver, assets, shares);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
        nonReentrant
    {
        super._withdraw(caller, receiver, owner, assets, shares);
    }

    function _transferIn(address from, uint256 assets) internal override {
        _take(IERC20(asset()), from, assets);
        idle += assets;
    }

    function _transferOut(address to, uint256 assets) internal override {
        idle -= assets;
        super._transferOut(to, assets);
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return SHARE_DIGITS;
    }

    // Parts of applications

    function _open(Application memory opened) private {
        _requireWithinTerms(opened);
        (openId, openApplicant, openAmount) = (opened.id, opened.applicant, opened.amount);
        (openCollateral, openVersion) = (opened.collateral, opened.criteriaVersion);
        decision = Decision.NONE;
        emit ApplicationOpened(
            opened.id, opened.applicant, opened.amount, opened.collateral, opened.criteriaVersion
        );
    }

    function _decidedBy(address decider) private view returns (Application memory) {
        if (msg.sender != decider) revert NotDecider(msg.sender);
        return openApplication();
    }

    /// @dev Insists on a decision. From here on no application is open.
    function _close(uint256 id, string memory answer) private returns (bool approved) {
        if (decision == Decision.NONE) revert Undecided(answer);
        approved = decision == Decision.APPROVED;
        openId = 0;
        (, uint8 value, uint256 checks) = book.score(id);
        emit ApplicationDecided(id, msg.sender, approved, value, checks);
    }

    function _requireWithinTerms(Application memory opened) private view {
        uint256 version = policy.criteriaVersion();
        if (version != opened.criteriaVersion) revert CriteriaChanged(opened.criteriaVersion, version);
        uint256 most = policy.maxLoan();
        if (opened.amount == 0 || opened.amount > most) revert AboveMaxLoan(opened.amount, most);
        uint256 needed = collateralFor(opened.amount);
        if (opened.collateral < needed) revert CollateralTooLow(opened.collateral, needed);
    }

    function _payOut(uint256 id, uint256 amount, uint256 collateral) private {
        uint256 start = block.timestamp;
        Loan memory loan = Loan({
            borrower: msg.sender,
            startedAt: uint40(start),
            dueAt: uint40(start + policy.term()),
            rateBps: uint16(policy.rateBps()),
            principal: uint128(amount),
            collateral: SafeCast.toUint128(collateral)
        });
        loans[id] = loan;
        openLoans[msg.sender].push(id);
        Tally storage tally = tallies[msg.sender];
        if (tally.loans++ == 0) tally.firstLoanAt = loan.startedAt;
        tally.borrowed += loan.principal;
        idle -= amount;
        lent += amount;
        rateSum += amount * loan.rateBps;
        startSum += amount * loan.rateBps * start;
        emit LoanPaid(id, msg.sender, amount, collateral, loan.dueAt);
        IERC20(asset()).safeTransfer(msg.sender, amount);
    }

    // Parts of loans

    function _remove(uint256 id, Loan memory loan) private {
        uint256 weight = uint256(loan.principal) * loan.rateBps;
        lent -= loan.principal;
        rateSum -= weight;
        startSum -= weight * loan.startedAt;
        delete loans[id];
        uint256[] storage ids = openLoans[loan.borrower];
        uint256 last = ids[ids.length - 1];
        for (uint256 i = 0; i < ids.length; i++) {
            if (ids[i] == id) ids[i] = last;
        }
        ids.pop();
    }

    function _loan(uint256 id) private view returns (Loan memory loan) {
        loan = loans[id];
        if (loan.borrower == address(0)) revert NoSuchLoan(id);
    }

    /// @dev Takes exactly the amount.
    function _take(IERC20 token, address from, uint256 amount) private {
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(from, address(this), amount);
        uint256 received = token.balanceOf(address(this)) - before;
        if (received != amount) revert AmountDiffers(address(token), amount, received);
    }
}
