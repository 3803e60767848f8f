/** Blocks and runs of the chain that the page shows, fetched in batches for the rows in view. */

import { computed, signal } from '@preact/signals';

import { toNumber } from './format';
import { addNames, client, epoch, head } from './store';
import type { Block, Run } from './types';

/** Blocks by number, of the chain of `cacheEpoch`. */
export const blocks = signal<ReadonlyMap<number, Block>>(new Map());

let cacheEpoch = 0;
const pending = new Set<number>();

/** The newest blocks that the list has; a browser can't scroll through all of a live chain. */
export const MAX_ROWS = 200_000;

/** Blocks that stay in memory. */
const MAX_KEPT = 2_000;

/** Fetch the blocks of these numbers that are missing. */
export async function fetchBlocks(numbers: Iterable<number>): Promise<void> {
  if (cacheEpoch !== epoch.value) {
    cacheEpoch = epoch.value;
    pending.clear();
    blocks.value = new Map();
  }
  const own = cacheEpoch;
  const missing = [...numbers].filter((number) => number >= 0 && !blocks.value.has(number) && !pending.has(number));
  if (missing.length === 0) return;
  for (const number of missing) pending.add(number);
  const found = await Promise.all(missing.map(requestBlock));
  if (own !== cacheEpoch) return;
  for (const number of missing) pending.delete(number);
  let next = new Map(blocks.value);
  found.forEach((block, index) => {
    if (block) next.set(missing[index]!, block);
  });
  if (next.size > MAX_KEPT) next = new Map([...next].slice(-MAX_KEPT));
  blocks.value = next;
}

function getBlock(number: number): Promise<Block | null> {
  return client.request<Block | null>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
}

function requestBlock(number: number): Promise<Block | null> {
  return getBlock(number).catch(() => null);
}

/** Return the numbers from `first` to `last`, both included, the last first. */
export function countDown(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => last - index);
}

interface Filled {
  /** Numbers of blocks with transactions, newest first. */
  numbers: number[];
  /** How many of them came after the first search. */
  added: number;
  /** The newest and the oldest block that was searched; -1 before the first search. */
  newest: number;
  oldest: number;
  /** Why the last search ended before its end; null if it did not. */
  error: unknown;
}

const NOT_SEARCHED: Filled = { numbers: [], added: 0, newest: -1, oldest: -1, error: null };
const searched = signal({ ...NOT_SEARCHED, chain: 0 });

/** Whether the list of blocks leaves out those without transactions. */
export const isFiltered = signal(false);

/** The blocks with transactions of the chain that the page shows, as far as they were searched. */
export const filled = computed<Filled>(() => (searched.value.chain === epoch.value ? searched.value : NOT_SEARCHED));

/** Blocks of one search. */
const MAX_SEARCHED = 1_000;

/** Blocks that are requested at once; the next ones follow when these are there. */
const SEARCHED_AT_ONCE = 100;

let search: Promise<void> = Promise.resolve();

/** Search new blocks for transactions, or older ones, after the searches before. */
export function searchBlocks(older = false): Promise<void> {
  search = search.then(async () => {
    const own = epoch.value;
    try {
      await (older ? searchOlder() : searchNew());
    } catch (error) {
      if (own === epoch.value) searched.value = { ...filled.value, chain: own, error };
    }
  });
  return search;
}

async function searchNew(): Promise<void> {
  const last = head.value?.number;
  const { newest } = filled.value;
  if (last === undefined || last <= newest) return;
  if (newest < 0 || last - newest > MAX_SEARCHED) return searchDown(last, true);
  for (let first = newest + 1; first <= last; first += SEARCHED_AT_ONCE) {
    const until = Math.min(last, first + SEARCHED_AT_ONCE - 1);
    const own = epoch.value;
    const found = await findFilled(first, until);
    if (own !== epoch.value) return;
    const { numbers, added, oldest } = filled.value;
    const all = [...found, ...numbers];
    searched.value = { chain: own, numbers: all, added: added + found.length, newest: until, oldest, error: null };
  }
}

async function searchOlder(): Promise<void> {
  const { oldest } = filled.value;
  if (oldest > 0) await searchDown(oldest - 1, false);
}

/** Search from a block down; `isFirst` forgets what was found before. */
async function searchDown(last: number, isFirst: boolean): Promise<void> {
  const end = Math.max(0, last - MAX_SEARCHED + 1);
  for (let until = last; until >= end; until -= SEARCHED_AT_ONCE) {
    const own = epoch.value;
    const first = Math.max(end, until - SEARCHED_AT_ONCE + 1);
    const found = await findFilled(first, until);
    if (own !== epoch.value) return;
    const before = isFirst && until === last ? { ...NOT_SEARCHED, newest: last } : filled.value;
    searched.value = { ...before, chain: own, numbers: [...before.numbers, ...found], oldest: first, error: null };
  }
}

/** Return those of some blocks that have transactions, newest first. A request that fails, fails the search. */
async function findFilled(first: number, last: number): Promise<number[]> {
  const numbers = countDown(first, last);
  const read = client.kind === 'node' ? getBlock : requestBlock; // A recording lacks most blocks.
  const found = await Promise.all(numbers.map((number) => blocks.value.get(number) ?? read(number)));
  return numbers.filter((_, index) => found[index]?.transactions.length);
}

interface Runs {
  /** Newest first. */
  list: Run[];
  isAll: boolean;
  error: unknown;
  isLoaded: boolean;
}

const NO_RUNS: Runs = { list: [], isAll: false, error: null, isLoaded: false };
const loadedRuns = signal({ ...NO_RUNS, chain: 0 });

/** The runs of the chain that the page shows. */
export const runs = computed<Runs>(() => (loadedRuns.value.chain === epoch.value ? loadedRuns.value : NO_RUNS));

/** Most blocks of one `agent_getRuns`. */
const MAX_RANGE = 100_000;

const FIRST_RUNS = 100;
const MAX_RUNS = 1_000;
let runsEpoch = 0;
let runsHead = -1;
let isLoading = false;
let isDue = false;

/** Load the newest runs, or those of new blocks. */
export async function updateRuns(): Promise<void> {
  isDue = true;
  if (isLoading) return;
  isLoading = true;
  try {
    while (isDue) {
      isDue = false;
      await readRuns();
    }
  } catch (error) {
    loadedRuns.value = { ...runs.value, chain: epoch.value, error };
  } finally {
    isLoading = false;
  }
}

async function readRuns(): Promise<void> {
  const last = head.value?.number;
  if (last === undefined) return;
  const own = epoch.value;
  const isFresh = own !== runsEpoch || runsHead < 0;
  if (!isFresh && last === runsHead) return;
  const found = await getRuns(isFresh ? 0 : runsHead + 1, last, isFresh ? FIRST_RUNS : MAX_RUNS);
  if (own !== epoch.value) {
    isDue = true;
    return;
  }
  runsEpoch = own;
  runsHead = last;
  loadedRuns.value = {
    chain: own,
    list: isFresh ? found : [...found, ...runs.value.list],
    isAll: isFresh ? found.length < FIRST_RUNS : runs.value.isAll,
    error: null,
    isLoaded: true,
  };
}

/** Load runs that are older than the list's. */
export async function loadOlderRuns(): Promise<void> {
  const { list } = runs.value;
  const oldest = list.at(-1);
  if (!oldest) return;
  const own = epoch.value;
  const found = await getRuns(0, toNumber(oldest.blockNumber), FIRST_RUNS);
  if (own !== epoch.value) return;
  const known = new Set(list.map((run) => run.transactionHash));
  const more = found.filter((run) => !known.has(run.transactionHash));
  loadedRuns.value = { ...runs.value, chain: own, list: [...list, ...more], isAll: more.length === 0 };
}

export async function getRuns(first: number, last: number, limit: number): Promise<Run[]> {
  const range = [Math.max(first, last - MAX_RANGE + 1, 0), last, limit].map((value) => `0x${value.toString(16)}`);
  const found = await client.request<Run[]>('agent_getRuns', range);
  for (const run of found) addNames(run.names);
  return found;
}
