/** What the node's methods return. Docs: docs/methods.md; fields of traces: docs/node.md. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A number as the node writes it: 0x… in `eth_*`, decimal or 0x… elsewhere. */
export type Numeric = number | string;

export type Names = Record<string, string>;

export interface Block {
  number: string;
  hash: string;
  parentHash: string;
  miner: string;
  stateRoot: string;
  timestamp: string;
  gasLimit: string;
  gasUsed: string;
  baseFeePerGas?: string;
  extraData: string;
  size: string;
  transactions: string[];
}

export type FullBlock = Omit<Block, 'transactions'> & { transactions: Transaction[] };

export interface Transaction {
  hash: string;
  blockHash: string | null;
  blockNumber: string | null;
  blockTimestamp?: string;
  transactionIndex: string | null;
  type: string;
  nonce: string;
  from: string;
  to: string | null;
  value: string;
  gas: string;
  gasPrice: string;
  input: string;
}

export interface Log {
  address: string;
  topics: string[];
  data: string;
  logIndex: string;
}

export interface Receipt {
  transactionHash: string;
  blockNumber: string;
  status: string;
  gasUsed: string;
  effectiveGasPrice: string;
  contractAddress: string | null;
  from: string;
  to: string | null;
  logs: Log[];
}

export interface Model {
  name: string;
  aliases: string[];
  digest: string;
  contextTokens: number;
  maxOutputTokens: number;
  coldPromptTokenGas: number;
  warmPromptTokenGas: number;
  outputTokenGas: number;
  isScripted: boolean;
}

export interface Tokens {
  cold: number;
  warm: number;
  output: number;
  forced: number;
}

export interface Margin {
  gap: number;
  token: number;
  chosen: string;
  other: string;
}

export interface Step {
  number: number;
  depth: number;
  agent: string;
  model: string;
  prompt: string;
  handles: Record<string, string>;
  thought: string | null;
  action: string | null;
  input: string | null;
  tool: string | null;
  observation: string | null;
  reason: string | null;
  answer: string | null;
  tokens: Tokens;
  gas: { prompt: number; output: number };
  margin: Margin | null;
  seconds: number | null;
  isCached: boolean;
  /** Whether the rules decided it, so that no model was asked. */
  isDecided: boolean;
  confidence?: { surprisal: number | null } | null;
  steps: Step[];
}

export interface Trace {
  transactionHash?: string;
  isSuccess: boolean;
  reason: string | null;
  gas: { used: number; evm: number; prompt: number; output: number };
  tokens: Tokens;
  closest: number | null;
  names: Names;
  steps: Step[];
}

/** A member of a tuple, as in an ABI. */
export interface Component {
  name: string;
  type: string;
  components?: Component[];
}

export interface Argument extends Component {
  value: Json;
}

export interface CallLog {
  /** The number of inner calls before it. */
  position: number;
  address: string;
  name: string | null;
  arguments: Argument[] | null;
  topics: string[];
  data: string;
}

export interface Call {
  type: string;
  from: string;
  to: string | null;
  value: Numeric | null;
  gasUsed: Numeric;
  contract: string | null;
  function: string | null;
  arguments: Argument[] | null;
  input: string;
  output: string | null;
  result: Argument[] | null;
  error: string | null;
  reason: string | null;
  isReverted: boolean;
  logs: CallLog[];
  step: number | null;
  calls: Call[];
}

export interface Transfer {
  standard: 'native' | 'erc20' | 'erc721' | 'erc1155';
  id: string | null;
  token: string | null;
  symbol: string | null;
  decimals: number | null;
  from: string;
  to: string;
  amount: Numeric;
}

/** An approval that stays after a transaction. */
export interface Approval {
  standard: 'erc20' | 'erc721' | 'all';
  token: string;
  symbol: string | null;
  decimals: number | null;
  owner: string;
  spender: string;
  /** An allowance; null for items. */
  amount: Numeric | null;
  /** An approved item; null for the others. */
  id: string | null;
}

/** Where a run differs from its request. */
export interface RequestDifference {
  kind: string;
  text: string;
}

export interface Difference {
  before: Numeric;
  after: Numeric;
}

export interface Change {
  address: string;
  name: string | null;
  balance: Difference | null;
  /** Bytes of code. */
  code: { before: number; after: number } | null;
  storage: { slot: string; before: string; after: string }[];
  tokens: ({ token: string; symbol: string | null; decimals: number | null } & Difference)[];
}

export interface Calls {
  /** The outermost call; null for one that did not begin. */
  call: Call | null;
  transfers: Transfer[];
  changes: Change[];
  /** Older recordings have none. */
  approvals?: Approval[];
  /** Null for what is not compared with a request; older recordings have none. */
  differences?: RequestDifference[] | null;
  names: Names;
}

export type Simulation = Trace & Calls & { output: string };

export interface Run {
  transactionHash: string;
  blockNumber: Numeric;
  transactionIndex: Numeric;
  /** Null for a transaction to the executor itself. */
  agent: string | null;
  agentName: string | null;
  request: string | null;
  answer: string | null;
  isSuccess: boolean;
  reason: string | null;
  gasUsed: Numeric;
  steps: Numeric;
  names: Names;
}

export interface ToolName {
  address: string;
  name: string | null;
}

export interface Parameter {
  name: string;
  type: string;
  description: string;
}

export interface Description {
  /** Name of the known contract. */
  contract: string | null;
  kind: 'agent' | 'tool' | null;
  name: string | null;
  description: string | null;
  basePrompt: string | null;
  model: string | null;
  iterations: number | null;
  tools: ToolName[] | null;
  parameters: Parameter[] | null;
  entry: 'instruct' | 'run' | 'runV1' | 'ask' | null;
}

export interface StorageRange {
  storage: Record<string, { key: string | null; value: string }>;
  nextKey: string | null;
}

export interface SearchedTransactions {
  txs: Transaction[];
  receipts: (Receipt & { timestamp?: string })[];
  firstPage: boolean;
  lastPage: boolean;
}

export interface Metadata {
  instanceId: string;
  latestBlockNumber: number;
  latestBlockHash: string;
}

export interface Head {
  number: number;
  hash: string;
}

/** An event of `agent_subscribe`. */
export interface StepEvent {
  kind: 'start' | 'reading' | 'writing' | 'tool' | 'answer' | 'observation' | 'failure' | 'end' | 'fault';
  source: 'block' | 'call' | 'estimate';
  /** What the page gave `agent_traceCall`. */
  requestId?: string;
  transactionHash: string | null;
  run: number;
  step: number;
  depth: number;
  agent: string;
  model?: string;
  done?: number;
  total?: number;
  text?: string;
  thought?: string | null;
  action?: string | null;
  input?: string | null;
  answer?: string | null;
  observation?: string | null;
  reason?: string | null;
  isSuccess?: boolean;
}
