/** A transaction, and the run of its agents. */

import { decodeAsk } from '../abi';
import { getRuns } from '../blocks';
import { useLoaded, type Loaded } from '../data';
import { formatClock, formatInteger, formatTime, formatWei, isHash, toBigInt, toNumber } from '../format';
import type { Fee } from '../parts/effects';
import { LiveSteps } from '../parts/live';
import { Report } from '../parts/report';
import { save, saveJson } from '../parts/save';
import { Fact, Waiting } from '../parts/states';
import { Address, BlockNumber, BOX_CHARACTERS, Bytes, Copy, Text, TextWithNames } from '../parts/text';
import { Status } from '../parts/transactions';
import { recordTransaction } from '../record';
import { buildScript } from '../script';
import { addNames, client, epoch, explainError, head, live } from '../store';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Block, Calls, Json, Receipt, Run, Trace, Transaction } from '../types';

interface TxData {
  transaction: Transaction | null;
  receipt: Receipt | null;
  trace: Trace | null;
  calls: Calls | null;
  callsError: unknown;
  run: Run | null;
  fee: Fee | null;
}

const NOTHING: TxData = {
  transaction: null,
  receipt: null,
  trace: null,
  calls: null,
  callsError: null,
  run: null,
  fee: null,
};

async function loadTransaction(hash: string): Promise<TxData> {
  if (!isHash(hash)) throw new Error(`transaction ${hash}: must be a hash of 32 bytes, 0x and 64 digits`);
  const transaction = await client.request<Transaction | null>('eth_getTransactionByHash', [hash]);
  if (!transaction) return NOTHING;
  if (!transaction.blockNumber) return { ...NOTHING, transaction };
  const number = toNumber(transaction.blockNumber);
  let callsError: unknown = null;
  const [receipt, block, trace, calls, runs] = await Promise.all([
    client.request<Receipt | null>('eth_getTransactionReceipt', [hash]),
    client.request<Block | null>('eth_getBlockByNumber', [transaction.blockNumber, false]),
    client.request<Trace>('agent_traceTransaction', [hash]),
    client.request<Calls>('agent_traceCalls', [hash]).catch((error: unknown) => {
      callsError = error;
      return null;
    }),
    getRuns(number, number, 1_000).catch(() => []),
  ]);
  addNames(trace.names);
  addNames(calls?.names);
  const run = runs.find((each) => each.transactionHash === hash.toLowerCase()) ?? null;
  return { transaction, receipt, trace, calls, callsError, run, fee: receipt && block && computeFee(receipt, block) };
}

function computeFee(receipt: Receipt, block: Block): Fee {
  const used = toBigInt(receipt.gasUsed);
  const price = toBigInt(receipt.effectiveGasPrice);
  const tip = used * (price - toBigInt(block.baseFeePerGas));
  return { sender: receipt.from, recipient: block.miner, wei: used * price, tip };
}

export function TransactionView({ argument }: { argument: string }) {
  const hash = argument.toLowerCase();
  const known = useRef<{ hash: string; data: TxData; at: number; chain: number } | null>(null);
  const isMined = known.current?.hash === hash && known.current.data.receipt !== null;
  const run = live.value.find((each) => each.hash === hash);
  // A pending transaction is looked for in each new block.
  const key = `tx ${hash} ${isMined ? '' : head.value?.hash}`;
  const loaded = useLoaded(key, () => loadTransaction(hash));
  if (loaded.data?.transaction) {
    known.current = { hash, data: loaded.data, at: loaded.at, chain: epoch.value };
  }
  const kept = known.current?.hash === hash ? known.current : null;
  const data = loaded.data?.transaction ? loaded.data : (kept?.data ?? loaded.data);
  const isGone = loaded.data !== null && !loaded.data.transaction && !loaded.isLoading;
  if (!data && !run)
    return (
      <Frame hash={hash}>
        <Waiting loaded={loaded} what="the transaction" />
      </Frame>
    );
  if (isGone && !kept && !run) {
    return (
      <Frame hash={hash}>
        <p>
          There is no such transaction here. It was never sent to this node, or it was removed from its chain or its
          pool.
        </p>
      </Frame>
    );
  }
  return (
    <Frame hash={hash} data={data ?? NOTHING} isGone={isGone && kept !== null}>
      {isGone && kept && (
        <p class="notice" role="status">
          This transaction is no longer on the chain. Below is what it was at {formatClock(kept.at)}.
        </p>
      )}
      <Body data={data ?? NOTHING} loaded={loaded} hash={hash} />
    </Frame>
  );
}

interface FrameProps {
  hash: string;
  data?: TxData;
  /** Whether the transaction was removed from the chain. */
  isGone?: boolean;
  children: ComponentChildren;
}

function hasAgent(data: TxData): boolean {
  return data.run !== null || (data.trace?.steps.length ?? 0) > 0;
}

function Frame({ hash, data, isGone = false, children }: FrameProps) {
  return (
    <>
      <header class="title">
        <h1>{data && hasAgent(data) ? 'Agent run' : 'Transaction'}</h1>
        {isGone ? (
          <span class="status bad">removed</span>
        ) : data?.receipt ? (
          <Status isSuccess={toNumber(data.receipt.status) === 1} />
        ) : (
          data?.transaction && <span class="status">pending</span>
        )}
        <span class="mono dim hash-text">
          <Text text={hash} />
        </span>
        <Copy text={hash} label="Copy hash" />
        {data?.trace && <Export hash={hash} data={data} trace={data.trace} isGone={isGone} />}
      </header>
      {children}
    </>
  );
}

interface ExportProps {
  hash: string;
  data: TxData;
  trace: Trace;
  isGone: boolean;
}

function Export({ hash, data, trace, isGone }: ExportProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const name = hash.slice(0, 10);
  const library = `Run${name}`;
  const script = buildScript(trace.steps);
  const isOnChain = client.kind === 'node' && !isGone;
  const saveTrace = () => {
    const { transaction, receipt, calls } = data;
    saveJson(`run-${name}.json`, { transaction, receipt, trace, ...calls } as unknown as Json);
  };
  const load = async (file: string, type: string, ask: () => Promise<string>) => {
    setBusy(true);
    try {
      save(file, await ask(), type);
      setError(null);
    } catch (reason) {
      setError(reason); // The connection was lost, or the node can't export the transaction.
    } finally {
      setBusy(false);
    }
  };
  const saveFile = () => load(`run-${name}.html`, 'text/html', () => recordTransaction(data.transaction!));
  const saveRecord = () =>
    load(`record-${name}.json`, 'application/json', () => client.request<string>('agent_exportRecord', [hash]));
  const saveReplay = () =>
    load(`${library}.sol`, 'text/plain', () => client.request<string>('agent_exportReplay', [hash, library]));
  return (
    <div class="actions" role="group" aria-label="Export">
      <CopyLink />
      {isOnChain && (
        <button
          type="button"
          title="This page with its data, for a browser without a node"
          disabled={isBusy}
          onClick={() => void saveFile()}
        >
          Save page
        </button>
      )}
      <button type="button" onClick={saveTrace}>
        Save JSON
      </button>
      {isOnChain && (
        <button
          type="button"
          title="The chain up to this transaction’s block, for pyevm-agents show, replay and node --fixture"
          disabled={isBusy}
          onClick={() => void saveRecord()}
        >
          Save record
        </button>
      )}
      {isOnChain && trace.steps.length > 0 && (
        <button
          type="button"
          title="The agents’ steps as a Solidity library, for forge test and Hardhat"
          disabled={isBusy}
          onClick={() => void saveReplay()}
        >
          Save Solidity
        </button>
      )}
      {script.length > 0 && (
        <button
          type="button"
          title="Steps for agent_setScript"
          onClick={() => saveJson(`script-${name}.json`, script as Json)}
        >
          Save script
        </button>
      )}
      {isBusy && (
        <span class="dim" role="status">
          Saving…
        </span>
      )}
      {error !== null && (
        <span class="failed" role="alert">
          Not saved: <Text text={explainError(error)} />
        </span>
      )}
    </div>
  );
}

function CopyLink() {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(location.href);
    setDone(true);
  };
  return (
    <button type="button" onClick={() => void copy().catch(() => undefined)} onBlur={() => setDone(false)}>
      {isDone ? 'Link copied' : 'Copy link'}
    </button>
  );
}

function Body({ data, loaded, hash }: { data: TxData; loaded: Loaded<TxData>; hash: string }) {
  const { transaction, receipt, trace, calls, run } = data;
  return (
    <>
      {transaction && <Facts transaction={transaction} receipt={receipt} hasAgent={hasAgent(data)} />}
      {trace ? (
        <>
          {data.callsError !== null && (
            <p class="failed">
              Calls: <Text text={explainError(data.callsError)} />
            </p>
          )}
          <Report
            id="tx"
            request={run?.request ?? (transaction && decodeAsk(transaction.input))}
            trace={trace}
            calls={calls}
            fee={data.fee}
          />
          {transaction && receipt && <Raw transaction={transaction} receipt={receipt} />}
        </>
      ) : (
        <Pending hash={hash} loaded={loaded} request={transaction && decodeAsk(transaction.input)} />
      )}
    </>
  );
}

interface PendingProps {
  hash: string;
  loaded: Loaded<TxData>;
  request: string | null;
}

function Pending({ hash, loaded, request }: PendingProps) {
  const run = live.value.find((each) => each.hash === hash);
  if (loaded.error && !run) return <Waiting loaded={loaded} what="the transaction" />;
  return (
    <section aria-labelledby="pending">
      <h2 id="pending">{run ? (run.isSuccess === null ? 'Running' : 'Waiting for its block') : 'Pending'}</h2>
      {request !== null && (
        <blockquote class="request">
          <TextWithNames text={request} block />
        </blockquote>
      )}
      {run ? (
        <LiveSteps run={run} />
      ) : (
        <p class="dim">It is in the pool and waits for a block. An agent’s steps appear here as they are made.</p>
      )}
    </section>
  );
}

interface FactsProps {
  transaction: Transaction;
  receipt: Receipt | null;
  hasAgent: boolean;
}

function Facts({ transaction, receipt, hasAgent }: FactsProps) {
  return (
    <dl class="facts-grid">
      <Fact label="block">
        {transaction.blockNumber ? (
          <BlockNumber number={toNumber(transaction.blockNumber)} />
        ) : (
          <span class="dim">none yet</span>
        )}
      </Fact>
      {transaction.blockTimestamp && (
        <Fact label="time (UTC)">
          <span class="mono">{formatTime(transaction.blockTimestamp)}</span>
        </Fact>
      )}
      <Fact label="from">
        <Address address={transaction.from} copies />
      </Fact>
      <Fact label={transaction.to ? 'to' : 'created'}>
        {transaction.to || receipt?.contractAddress ? (
          <Address address={transaction.to ?? receipt!.contractAddress!} copies claims={hasAgent} />
        ) : (
          <span class="dim">a contract</span>
        )}
      </Fact>
      {toBigInt(transaction.value) > 0n && (
        <Fact label="value">
          <span class="mono">{formatWei(transaction.value)}</span>
        </Fact>
      )}
      <Fact label="gas">
        <span class="mono">
          {receipt && `${formatInteger(receipt.gasUsed)} `}
          <span class="dim">of {formatInteger(transaction.gas)}</span>
        </span>
      </Fact>
      {receipt && (
        <Fact label="fee">
          <span class="mono">{formatWei(toBigInt(receipt.gasUsed) * toBigInt(receipt.effectiveGasPrice))}</span>
        </Fact>
      )}
      <Fact label="nonce">
        <span class="mono">{formatInteger(transaction.nonce)}</span>
      </Fact>
    </dl>
  );
}

function Raw({ transaction, receipt }: { transaction: Transaction; receipt: Receipt }) {
  return (
    <details class="section">
      <summary data-stop>Input, logs and receipt</summary>
      <h3>Input</h3>
      <Bytes hex={transaction.input} label="input" />
      <h3>Logs</h3>
      {receipt.logs.length === 0 && <p class="dim">None.</p>}
      {receipt.logs.map((log) => (
        <div class="raw-log" key={log.logIndex}>
          <Address address={log.address} />
          {log.topics.map((topic, index) => (
            <div class="mono wrap dim" key={index}>
              {topic}
            </div>
          ))}
          <Bytes hex={log.data} label={`data of log ${toNumber(log.logIndex)}`} />
        </div>
      ))}
      <h3>Receipt</h3>
      <pre tabIndex={0} aria-label="Receipt">
        <Text text={JSON.stringify({ ...receipt, logs: `${receipt.logs.length}, above` }, null, 2)} block limit={BOX_CHARACTERS} />
      </pre>
    </details>
  );
}
