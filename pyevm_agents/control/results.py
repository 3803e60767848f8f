"""Results of the control plane, for REST, MCP and the command line: camelCase in JSON.

Each is built from a dataclass of `pyevm_agents.lifecycle`. A dataclass without bytes is a member
unchanged. Bytes are hexadecimal with `0x`, and addresses have checksums.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    RootModel,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pyevm_agents.lifecycle.budget import BudgetUse, ComputeBudget
from pyevm_agents.lifecycle.execution import ChildRun
from pyevm_agents.lifecycle.json_codec import show_json
from pyevm_agents.lifecycle.next_steps import RunState
from pyevm_agents.lifecycle.records import (
    DiscoverResult,
    DryRunResult,
    ExecutionResult,
    PolicyCheckResult,
    ReceiptType,
    RecordResult,
    RunSummary,
    TaskPlan,
    TrustCheckResult,
    VerificationResult,
)
from pyevm_agents.lifecycle.statuses import Phase, RunStatus, TaskStatus
from pyevm_agents.lifecycle.trust import TrustThreshold
from pyevm_agents.manifests.documents import DocumentKind, load_schema

HexText = Annotated[str, BeforeValidator(show_json), Field(pattern="^0x([0-9a-fA-F]{2})*$")]
"""Bytes in hexadecimal."""

Address = Annotated[str, BeforeValidator(show_json), Field(pattern="^0x[0-9a-fA-F]{40}$")]
"""An address with a checksum."""

AmountText = Annotated[str, Field(pattern="^[0-9]+$")]
"""Base units in decimal: JSON's numbers are too small for 256 bits."""

FreeJson = Annotated[Any, BeforeValidator(show_json)]
"""A JSON value of an agent or a tool."""


class ResultModel(BaseModel):
    """A result with camelCase members."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        from_attributes=True,
        frozen=True,
        json_schema_serialization_defaults_required=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def build(cls, source: Any, **members: object) -> Self:  # noqa: ANN401 - any dataclass
        """Return the result of a dataclass, with the members that the dataclass lacks."""
        own = {each.name: getattr(source, each.name) for each in fields(source)}
        return cls.model_validate({**own, **members})


class ErrorResult(ResultModel):
    """Why a request was refused."""

    error: str
    """The thing, the value, the constraint, and the next step."""


# -- documents -- #


class AgentDocument(RootModel[dict[str, Any]]):
    """A document of an agent: agent.json, a registration document, or agent_log.json."""

    kinds: ClassVar[tuple[DocumentKind, ...]] = tuple(DocumentKind)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schemas of the documents, from `manifests/schemas/`."""
        schemas = [_inline_definitions({**load_schema(each)}) for each in cls.kinds]
        return schemas[0] if len(schemas) == 1 else {"type": "object", "anyOf": schemas}


class ManifestDocument(AgentDocument):
    """agent.json."""

    kinds = (DocumentKind.MANIFEST,)


class LogDocument(AgentDocument):
    """agent_log.json."""

    kinds = (DocumentKind.LOG,)


class RegistrationDocument(AgentDocument):
    """agent-registration.json, in the form of ERC-8004."""

    kinds = (DocumentKind.REGISTRATION,)


class OpenfiRegistrationDocument(AgentDocument):
    """agent-registration.openfi.json."""

    kinds = (DocumentKind.OPENFI_REGISTRATION,)


def _inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema with the definitions in place of the references."""
    definitions = schema.get("$defs", {})

    def inline(part: Any) -> Any:  # noqa: ANN401 - any part of a schema
        if isinstance(part, list):
            return [inline(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return inline(definitions[part["$ref"].removeprefix("#/$defs/")])
        return {name: inline(each) for name, each in part.items()}

    hidden = {"$defs", "$id", "$schema"}
    return {name: inline(each) for name, each in schema.items() if name not in hidden}


# -- agents -- #


class AgentResult(ResultModel):
    """An installed agent."""

    slug: str
    name: str
    version: str
    description: str
    task_categories: tuple[str, ...]
    identity_mode: str
    """Always `erc8004-required`: no other agent is loaded. Whether runs of this control plane need
    the identity is in its policy."""

    agent_id: int | None
    """In ERC-8004's identity registry; null for an agent that is not registered."""


class ValidationEvidence(ResultModel):
    """A validator's response about a run of an agent."""

    validator: Address
    response: int
    """From 0 to 100."""

    tag: str


class FeedbackEvidence(ResultModel):
    """A client's feedback about an agent."""

    client: Address
    score: float
    """From 0 to 1."""


class TrustEvidence(ResultModel):
    """An agent in the registries at one block."""

    agent_slug: str
    has_identity: bool
    """Whether the identity registry has the manifest's agent ID."""

    is_registered: bool
    """Whether the identity's owner or wallet is the manifest's."""

    validations: tuple[ValidationEvidence, ...]
    feedback: tuple[FeedbackEvidence, ...]


class AgentTrustResult(ResultModel):
    """The trust in an agent."""

    agent_slug: str
    score: float
    """From 0 to 1."""

    failures: tuple[str, ...]
    """Why runs reject the agent; empty for an agent that is trusted."""

    snapshot: TrustEvidence
    threshold: TrustThreshold


class PolicyResult(ResultModel):
    """The limits of budgets, and the trust that agents need."""

    limits: ComputeBudget
    default_budget: ComputeBudget
    trust_threshold: TrustThreshold
    trusted_validators: tuple[Address, ...]
    trusted_clients: tuple[Address, ...]


class TreasuryAsset(ResultModel):
    """An asset of a treasury."""

    asset: Address
    """A token; the zero address for wei."""

    cap: AmountText
    """Base units that a task may spend."""

    confirm_above: AmountText
    """Base units above which the operator must sign."""

    balance: AmountText | None
    """Base units; null for a token that does not return balances."""


class TreasuryResult(ResultModel):
    """The treasury that runs write through."""

    address: Address
    owner: Address
    balance_wei: AmountText
    max_steps: int
    max_onchain_writes: int
    confirms_always: bool
    """Whether the operator must sign every run."""

    is_paused: bool
    delegate: Address
    """The account that sends the transactions of runs."""

    assets: tuple[TreasuryAsset, ...]


class IdentityResult(ResultModel):
    """An agent's entry in ERC-8004's identity registry."""

    slug: str
    agent_id: int
    agent_registry: Address
    chain_id: int
    is_new: bool
    """Whether the agent was registered now."""

    uri: str
    transaction_hashes: tuple[HexText, ...]


# -- tasks and runs -- #


class TaskResult(ResultModel):
    """A task."""

    task_id: str
    goal: str
    agent_slug: str
    """The agent that plans."""

    operator_wallet: Address
    """The account that confirms dry runs."""

    category: str
    budget: ComputeBudget
    trust_threshold: TrustThreshold | None
    """Beside the control plane's own; null for nothing more."""

    status: TaskStatus
    run_ids: tuple[str, ...]


class RunOverview(ResultModel):
    """A run without the results of the phases."""

    run_id: str
    task_id: str
    parent_run_id: str | None
    status: RunStatus
    phase: Phase | None
    """The next phase; null after the last one."""

    attempt: int
    """Number of the dry run, from 1 on."""

    failed_phase: Phase | None
    failure: str | None
    is_cancelled: bool
    """Whether the operator ended the run."""

    state: RunState
    """Where the run stands: more exactly than the status, such as whether it waits for the
    operator's signature."""

    spent_ms: int
    started_at: float
    """Unix seconds."""

    ended_at: float | None


class DiscoverPhase(ResultModel):
    """Discovery of the agents."""

    phase: Literal[Phase.DISCOVER]
    result: DiscoverResult


class PlanPhase(ResultModel):
    """The coordinator's plan."""

    phase: Literal[Phase.PLAN]
    result: TaskPlan


class TrustCheckPhase(ResultModel):
    """The check of the trust in the plan's agents."""

    phase: Literal[Phase.TRUST_CHECK]
    result: TrustCheckResult


class PolicyCheckPhase(ResultModel):
    """The check of budget and plan."""

    phase: Literal[Phase.POLICY_CHECK]
    result: PolicyCheckResult


class DryRunDigestsResult(ResultModel):
    """The digests that an operator confirms."""

    writes: HexText
    trace: HexText
    """Of everything that the dry run did on the chain."""


class DryRunOverview(ResultModel):
    """A dry run without the trace."""

    result: DryRunResult
    digests: DryRunDigestsResult
    use: BudgetUse
    children: tuple[ChildRun, ...]
    needs_confirmation: bool


class DryRunPhase(ResultModel):
    """The dry run."""

    phase: Literal[Phase.DRY_RUN]
    result: DryRunOverview


class RunBlockResult(ResultModel):
    """The block of a run."""

    number: int
    block_hash: HexText
    transaction_hashes: tuple[HexText, ...]


class ExecutionOverview(ResultModel):
    """An execution without the trace."""

    result: ExecutionResult
    digest: HexText
    """Of the trace."""

    use: BudgetUse
    block: RunBlockResult | None
    """null for a run without a transaction."""


class ExecutePhase(ResultModel):
    """The execution."""

    phase: Literal[Phase.EXECUTE]
    result: ExecutionOverview


class VerifyPhase(ResultModel):
    """The verification."""

    phase: Literal[Phase.VERIFY]
    result: VerificationResult


class SummarizePhase(ResultModel):
    """The summary."""

    phase: Literal[Phase.SUMMARIZE]
    result: RunSummary


class RecordPhase(ResultModel):
    """The entry of the agent's log."""

    phase: Literal[Phase.RECORD]
    result: RecordResult


PhaseResult = Annotated[
    DiscoverPhase
    | PlanPhase
    | TrustCheckPhase
    | PolicyCheckPhase
    | DryRunPhase
    | ExecutePhase
    | VerifyPhase
    | SummarizePhase
    | RecordPhase,
    Field(discriminator="phase"),
]
"""A phase that was performed."""


class ReceiptResult(ResultModel):
    """A receipt of a run."""

    receipt_id: str
    type: ReceiptType
    ref: str
    """A transaction's hash, a dry run's digest, a validation request, or a tool's name."""

    summary: str


class RunResult(RunOverview):
    """A run with the results of the phases."""

    next_step: str
    """What comes next, with the operation."""

    not_done: str | None
    """The answer of an agent that did not do the task; null for any other run."""

    task_status: TaskStatus
    phases: tuple[PhaseResult, ...]
    """The phases that were performed, in order."""

    waits_for_confirmation: bool
    """Whether the dry run waits for the operator's signature."""

    receipts: tuple[ReceiptResult, ...]
    summary: RunSummary | None
    fault: str | None
    """The failure of the host that stopped the run; null without one. `continue` tries again."""


class BlockPinResult(ResultModel):
    """The block of a dry run."""

    parent_hash: HexText
    state_root: HexText
    """Of the state below the block."""

    number: int
    timestamp: int
    """Unix seconds."""

    base_fee_wei: int
    prev_randao: HexText
    coinbase: Address
    gas_limit: int


class RunWriteResult(ResultModel):
    """A call that an agent makes to change the chain."""

    step_id: str
    number: int
    """Of the write in its step, from 0 on."""

    target: Address
    value_wei: int
    data: HexText


class ChainToolUseResult(ResultModel):
    """The use of a tool by an agent's contract."""

    tool: Address
    name: str
    arguments: str
    observation: str | None
    """null for a tool that reverted."""


class WriteTraceResult(ResultModel):
    """A write and its effects."""

    write: RunWriteResult
    is_success: bool
    failure: str | None
    output: HexText
    calls: HexText
    """Digest of the message calls."""

    logs: HexText
    """Digest of the logs."""

    generations: HexText
    """Digest of the models' generations."""

    storage: HexText
    """Digest of the changed slots."""

    tool_uses: tuple[ChainToolUseResult, ...]
    gas_used: int
    gas_wei: int
    transaction_hash: HexText


class ChainReadResult(ResultModel):
    """A call that an agent made to read the chain."""

    step_id: str
    target: Address
    data_hash: HexText
    output_hash: HexText


class RunTraceResult(ResultModel):
    """Everything that a run did on the chain, in order."""

    writes: tuple[WriteTraceResult, ...]
    reads: tuple[ChainReadResult, ...]


class HostToolUseResult(ResultModel):
    """The use of a tool of the host."""

    step_id: str
    name: str
    arguments: Mapping[str, FreeJson]
    result: FreeJson
    error: str | None


class DryRunReport(ResultModel):
    """The dry run of a run: calls, writes, logs, generations and their digests."""

    run_id: str
    result: DryRunResult
    pin: BlockPinResult
    trace: RunTraceResult
    digests: DryRunDigestsResult
    tool_uses: tuple[HostToolUseResult, ...]
    use: BudgetUse
    children: tuple[ChildRun, ...]
    needs_confirmation: bool


class ValidationReport(ResultModel):
    """The validator's response about a run, in ERC-8004's registry."""

    run_id: str
    request_hash: HexText
    agent_id: int
    validator: Address
    response: int
    """From 0 to 100."""

    evidence: HexText
    tag: str


class VerificationReport(ResultModel):
    """A second execution of a run's block, compared with the first."""

    run_id: str
    is_verified: bool
    """Whether the digests are equal, and the blocks do not differ."""

    dry_run_digest: HexText
    execution_digest: HexText
    block: RunBlockResult | None
    difference: str | None
    """How the second execution differs; null where nothing does."""

    verification: VerificationResult | None
    """Of phase verify; null before it."""


# -- confirmations -- #


class DecodedArgument(ResultModel):
    """An argument of a call."""

    name: str
    type: str
    value: FreeJson


class MovedAsset(ResultModel):
    """An asset that a write moves, or approves."""

    standard: str
    token: Address | None
    """null for the native currency."""

    symbol: str | None
    decimals: int | None
    amount: AmountText | None
    """Base units; null for items."""

    id: AmountText | None
    """Of an item; null for others."""


class TransferResult(MovedAsset):
    """A transfer that a write makes."""

    sender: Address = Field(alias="from")
    receiver: Address = Field(alias="to")


class ApprovalResult(MovedAsset):
    """An approval that a write leaves."""

    token: Address
    owner: Address
    spender: Address


class BalanceResult(ResultModel):
    """A balance that a write changes."""

    account: Address
    token: Address | None
    """null for the native currency."""

    symbol: str | None
    decimals: int | None
    before: AmountText
    """Base units."""

    after: AmountText


class DifferenceResult(ResultModel):
    """A difference between an agent's request and what its run does."""

    kind: str
    text: str


class WriteEffects(ResultModel):
    """The effects that a write of a dry run has on the present state."""

    step_id: str
    number: int
    """Of the write in its step, from 0 on."""

    caller: Address
    """The treasury, or the account that signs the transactions of runs."""

    target: Address
    value_wei: int
    data: HexText
    """The calldata."""

    is_skipped: bool
    """Whether an earlier run of the task made the write: then it has no effects now."""

    failure: str | None
    """Why the write fails; null if it does not."""

    contract: str | None
    """The target's name; null if not known."""

    function: str | None
    """Null if not known, or without calldata."""

    arguments: tuple[DecodedArgument, ...] | None
    """null if not known."""

    request: str | None
    """What an agent is asked; null without an agent."""

    transfers: tuple[TransferResult, ...]
    approvals: tuple[ApprovalResult, ...]
    """Those that stay."""

    balances: tuple[BalanceResult, ...]
    """Those of the caller and of agents' accounts that change."""

    differences: tuple[DifferenceResult, ...] | None
    """Between the request and the effects; null if they are not compared."""

    names: Mapping[str, str]
    """Of addresses, by checksummed address."""


class TypedMember(ResultModel):
    """A member of a type of EIP-712."""

    name: str
    type: str


class SigningDomain(ResultModel):
    """The domain of a signature that the control plane checks."""

    model_config = ConfigDict(extra="forbid")

    name: str
    version: str
    chain_id: int


class TreasuryDomain(SigningDomain):
    """The domain of a signature that a treasury checks."""

    verifying_contract: Address


class DryRunMessage(ResultModel):
    """The dry run that is signed."""

    task_id: HexText
    run_id: HexText
    digest: HexText
    trace: HexText
    expiry: int
    """Unix seconds."""


class TypedData(ResultModel):
    """A dry run as EIP-712's typed data, for `eth_signTypedData_v4`."""

    types: Mapping[str, tuple[TypedMember, ...]]
    primary_type: Literal["DryRun"]
    domain: TreasuryDomain | SigningDomain
    message: DryRunMessage


class ConfirmationReport(ResultModel):
    """The dry run that an operator signs, and the hash."""

    run_id: str
    expiry: int
    """Unix seconds until which the signature counts."""

    digest: HexText
    """The EIP-712 hash: 32 bytes."""

    typed_data: TypedData
    operator_wallet: Address
    effects: tuple[WriteEffects, ...]
    """Of the writes that the signature confirms, in order."""
