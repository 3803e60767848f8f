/** What happens on the chain: agents that run now, agents that ran, and blocks. */

import { useEffect, useRef, useState } from 'preact/hooks';

import {
  blocks,
  countDown,
  fetchBlocks,
  filled,
  isFiltered,
  loadOlderRuns,
  MAX_ROWS,
  runs,
  searchBlocks,
  updateRuns,
} from '../blocks';
import { cut, formatInteger, formatPercent, formatTime, shorten, toNumber } from '../format';
import { GasMeter } from '../parts/meter';
import { List } from '../parts/list';
import { LiveCard } from '../parts/live';
import { Address, ShortText, Text } from '../parts/text';
import { open } from '../router';
import { findCause, nameAddresses } from '../reasons';
import { client, connection, epoch, explainError, head, live } from '../store';
import type { Run } from '../types';

/** As in the style sheet, `--row`. */
const ROW_PX = 30;
const HASHES = 3;

/** Of a cause, before its addresses become names. */
const CAUSE_CHARACTERS = 1_000;

/** How long the rows in view are the same, before their blocks are fetched: who scrolls past them needs none. */
const REST_MS = 100;

export function Overview() {
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Running />
      <Runs />
      <Blocks />
    </>
  );
}

function Running() {
  const running = live.value.filter((run) => run.isSuccess === null);
  if (running.length === 0) return null;
  return (
    <section aria-labelledby="running">
      <h2 id="running">Running now</h2>
      {running.map((run) => (
        <LiveCard key={run.run} run={run} />
      ))}
    </section>
  );
}

const RUN_COLUMNS = [
  { label: 'Block', class: 'number narrow' },
  { label: 'Agent', class: 'medium extra' },
  { label: 'Asked' },
  { label: 'Outcome' },
  { label: 'Steps', class: 'number narrow extra' },
  { label: 'Gas', class: 'number medium extra' },
];

function Runs() {
  const last = head.value?.number;
  const chain = epoch.value;
  const isOpen = connection.value.state === 'open';
  useEffect(() => {
    if (isOpen) void updateRuns();
  }, [last, chain, isOpen]);
  const { list, isAll, error, isLoaded } = runs.value;
  const added = useAdded(list);
  return (
    <section aria-labelledby="runs">
      <h2 id="runs">
        Agent runs {list.length > 0 && <span class="dim">{formatInteger(list.length) + (isAll ? '' : '+')}</span>}
      </h2>
      {error ? (
        <p class="failed">
          Agent runs: <Text text={explainError(error)} />
        </p>
      ) : list.length === 0 ? (
        <p class="dim">
          {isLoaded
            ? 'No agent has run yet. Open an agent’s address and ask it, or send it a transaction.'
            : 'Loading…'}
        </p>
      ) : (
        <div class={list.length > 10 ? 'runs many' : 'runs'}>
          <List
            key={chain}
            label="Agent runs, newest first"
            columns={RUN_COLUMNS}
            count={list.length}
            added={added}
            rowHeight={ROW_PX}
            row={(index) => <RunCells run={list[index]!} />}
            rowKey={(index) => list[index]!.transactionHash}
            rowLabel={(index) => `${list[index]!.request ?? 'no request'}: ${describeOutcome(list[index]!)}`}
            onOpen={(index) => open('tx', list[index]!.transactionHash)}
          />
        </div>
      )}
      {list.length > 0 && !isAll && <Older />}
    </section>
  );
}

/** Return a number that grows by the runs added on top, and not by older ones. */
function useAdded(list: Run[]): number {
  const anchor = useRef<string | undefined>(undefined);
  const find = () => list.findIndex((run) => run.transactionHash === anchor.current);
  // At first, and when the chain is another.
  if (find() < 0) anchor.current = list.at(-1)?.transactionHash;
  return find();
}

function Older() {
  const [isLoading, setLoading] = useState(false);
  const load = async () => {
    setLoading(true);
    await loadOlderRuns().catch(() => undefined);
    setLoading(false);
  };
  return (
    <button type="button" class="quiet" disabled={isLoading} onClick={load}>
      Show older runs
    </button>
  );
}

export function describeOutcome(run: Run): string {
  if (!run.isSuccess) return `reverted: ${run.reason === null ? 'no reason' : nameCause(run.reason)}`;
  return run.answer ?? 'no answer';
}

/** Return a reason's cause with names; of a long one, its beginning. */
function nameCause(reason: string): string {
  return nameAddresses(cut(findCause(reason), CAUSE_CHARACTERS));
}

function RunCells({ run }: { run: Run }) {
  return (
    <>
      <td class="number narrow mono">{formatInteger(run.blockNumber)}</td>
      <td class="medium extra">
        {run.agent ? (
          <Address address={run.agent} name={run.agentName} claims listed />
        ) : (
          <span class="dim">the executor itself</span>
        )}
      </td>
      <td>
        <a href={`#/tx/${run.transactionHash}`} tabIndex={-1}>
          <ShortText text={run.request ?? 'no request'} />
        </a>
      </td>
      <td class={run.isSuccess ? '' : 'failed'}>
        <ShortText text={describeOutcome(run)} />
      </td>
      <td class="number narrow extra mono">{formatInteger(run.steps)}</td>
      <td class="number medium extra mono">{formatInteger(run.gasUsed)}</td>
    </>
  );
}

const BLOCK_COLUMNS = [
  { label: 'Block', class: 'number medium' },
  { label: 'Time (UTC)', class: 'time' },
  { label: 'Transactions' },
  { label: 'Gas used', class: 'number medium' },
  { label: 'Of limit', class: 'meter-cell' },
  { label: 'Hash', class: 'hash' },
];

function Blocks() {
  const last = head.value?.number;
  const chain = epoch.value;
  const isOpen = connection.value.state === 'open';
  const hasFilter = isFiltered.value;
  useEffect(() => {
    if (hasFilter && isOpen) void searchBlocks();
  }, [hasFilter, last, chain, isOpen]);
  const { numbers, added, oldest, error } = filled.value;
  return (
    <section aria-labelledby="blocks" class="blocks">
      <h2 id="blocks">Blocks {last !== undefined && <span class="dim">{formatInteger(last + 1)}</span>}</h2>
      <label class="filter">
        <input
          type="checkbox"
          checked={hasFilter}
          onChange={(event) => (isFiltered.value = event.currentTarget.checked)}
        />
        Only blocks with transactions
      </label>
      {hasFilter && error !== null && (
        <p class="failed">
          Search for transactions: <Text text={explainError(error)} />{' '}
          <button type="button" class="quiet" onClick={() => void searchBlocks(oldest >= 0)}>
            Search again
          </button>
        </p>
      )}
      {last === undefined || (hasFilter && oldest < 0) ? (
        <p class="dim">{hasFilter && error !== null ? 'No block was searched.' : 'Loading…'}</p>
      ) : hasFilter ? (
        <>
          <BlockList
            key={`${chain} filled`}
            label="Blocks with transactions, newest first"
            count={numbers.length}
            added={added}
            numberOf={(index) => numbers[index]!}
          />
          {numbers.length === 0 && <p class="dim">No block from {formatInteger(oldest)} on has a transaction.</p>}
          {oldest > 0 && (
            <button type="button" class="quiet" onClick={() => void searchBlocks(true)}>
              Search blocks before {formatInteger(oldest)}
            </button>
          )}
        </>
      ) : (
        <>
          <BlockList
            key={chain}
            label="Blocks, newest first"
            count={Math.min(last + 1, MAX_ROWS)}
            added={last}
            numberOf={(index) => last - index}
          />
          {last + 1 > MAX_ROWS && <p class="dim">Older blocks: search by number.</p>}
        </>
      )}
    </section>
  );
}

interface BlockListProps {
  label: string;
  count: number;
  added: number;
  numberOf(index: number): number;
}

function BlockList({ label, count, added, numberOf }: BlockListProps) {
  const [range, setRange] = useState({ first: 0, end: 0 });
  const [rested, setRested] = useState(range);
  const isOpen = connection.value.state === 'open';
  useEffect(() => {
    if (rested.end === 0) return setRested(range); // The first rows.
    const timer = setTimeout(() => setRested(range), REST_MS);
    return () => clearTimeout(timer);
  }, [range.first, range.end]);
  useEffect(() => {
    if (isOpen) void fetchBlocks(countDown(rested.first, rested.end - 1).map(numberOf));
  }, [added, count, rested.first, rested.end, isOpen]);
  return (
    <List
      label={label}
      columns={BLOCK_COLUMNS}
      count={count}
      added={added}
      rowHeight={ROW_PX}
      row={(index) => <BlockCells number={numberOf(index)} />}
      rowKey={(index) => String(numberOf(index))}
      rowLabel={(index) => `Block ${formatInteger(numberOf(index))}`}
      onOpen={(index) => open('block', String(numberOf(index)))}
      onRange={(first, end) => setRange({ first, end })}
    />
  );
}

function BlockCells({ number }: { number: number }) {
  const block = blocks.value.get(number);
  const label = (
    <td class="number medium mono">
      <a href={`#/block/${number}`} tabIndex={-1}>
        {formatInteger(number)}
      </a>
    </td>
  );
  if (!block) {
    return (
      <>
        {label}
        <td class="time dim">{client.kind === 'node' ? '…' : 'not recorded'}</td>
        <td />
        <td class="number medium" />
        <td class="meter-cell" />
        <td class="hash" />
      </>
    );
  }
  const hashes = block.transactions;
  const used = toNumber(block.gasUsed);
  return (
    <>
      {label}
      <td class="time mono">{formatTime(block.timestamp)}</td>
      <td>
        <span class={hashes.length ? 'count' : 'count dim'}>{formatInteger(hashes.length)}</span>
        {hashes.slice(0, HASHES).map((hash) => (
          <a key={hash} class="mono chip" href={`#/tx/${hash}`} title={hash} tabIndex={-1}>
            {shorten(hash)}
          </a>
        ))}
        {hashes.length > HASHES && <span class="dim">and {formatInteger(hashes.length - HASHES)} more</span>}
      </td>
      <td class="number medium mono">{formatInteger(used)}</td>
      <td class="meter-cell">
        <GasMeter used={used} limit={toNumber(block.gasLimit)} label={formatPercent(used, toNumber(block.gasLimit))} />
      </td>
      <td class="hash mono dim" title={block.hash}>
        {shorten(block.hash)}
      </td>
    </>
  );
}
