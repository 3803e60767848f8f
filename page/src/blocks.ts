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

/** Fetch the blocks of a range that are missing. Input: first and last number, inclusive. */
export async function fetchBlocks(first: number, last: number): Promise<void> {
  if (cacheEpoch !== epoch.value) {
    cacheEpoch = epoch.value;
    pending.clear();
    blocks.value = new Map();
  }
  const own = cacheEpoch;
  const missing: number[] = [];
  for (let number = Math.max(0, first); number <= last; number++) {
    if (!blocks.value.has(number) && !pending.has(number)) missing.push(number);
  }
  if (missing.length === 0) return;
  for (const number of missing) pending.add(number);
  const found = await Promise.all(
    missing.map((number) =>
      client.request<Block | null>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]).catch(() => null),
    ),
  );
  if (own !== cacheEpoch) return;
  for (const number of missing) pending.delete(number);
  let next = new Map(blocks.value);
  found.forEach((block, index) => {
    if (block) next.set(missing[index]!, block);
  });
  if (next.size > MAX_KEPT) next = new Map([...next].slice(-MAX_KEPT));
  blocks.value = next;
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
