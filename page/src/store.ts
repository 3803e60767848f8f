/** The node as the page knows it: connection, head, models, names, and agents that run now. */

import { batch, signal } from '@preact/signals';

import { formatInteger } from './format';
import { createClient, RpcError } from './rpc';
import type { Description, Head, Metadata, Model, Names, StepEvent } from './types';

export const client = createClient();

export type Connection =
  { state: 'connecting' } | { state: 'open' } | { state: 'lost'; since: number; retryAt: number };

export const connection = signal<Connection>({ state: 'connecting' });
export const head = signal<Head | null>(null);
export const chainId = signal<string | null>(null);
export const models = signal<Model[]>([]);
export const names = signal<Names>({});

/** Counts the chains that the page has seen: views load anew when it changes. */
export const epoch = signal(0);

/** What happened to the chain that the page showed, until it is dismissed. */
export const notice = signal<{ text: string; at: number } | null>(null);

/** Text for the polite live region. */
export const announcement = signal('');

/** What a lost event or a change without one (a revert to a snapshot) is found by. */
const POLL_MS = 2_000;

let instanceId: string | null = null;

export function addNames(more: Names | null | undefined): void {
  if (!more) return;
  const known = names.value;
  const entries = Object.entries(more).map(([address, name]) => [address.toLowerCase(), name] as const);
  if (entries.some(([address, name]) => known[address] !== name)) {
    names.value = { ...known, ...Object.fromEntries(entries) };
  }
}

export function findName(address: string): string | undefined {
  const key = address.toLowerCase();
  return Object.hasOwn(names.value, key) ? names.value[key] : undefined;
}

/** What contracts call themselves, by address, of the chain of `claimsEpoch`; null of those without a name. */
const claims = signal<ReadonlyMap<string, string | null>>(new Map());
let claimsEpoch = 0;
const asked = new Set<string>();

/** Ask once for the name that a contract gives itself. */
export async function loadClaim(address: string): Promise<void> {
  if (claimsEpoch !== epoch.value) {
    claimsEpoch = epoch.value;
    asked.clear();
    claims.value = new Map();
  }
  const own = claimsEpoch;
  const key = address.toLowerCase();
  if (asked.has(key)) return;
  asked.add(key);
  try {
    const { name, tools } = await client.request<Description>('agent_describe', [key]);
    if (own !== claimsEpoch) return;
    const found = new Map(claims.value).set(key, name);
    for (const tool of tools ?? []) found.set(tool.address.toLowerCase(), tool.name);
    claims.value = found;
  } catch {
    if (own === claimsEpoch) asked.delete(key); // Not recorded, or the connection was lost.
  }
}

export function findClaim(address: string): string | null {
  return claims.value.get(address.toLowerCase()) ?? null;
}

/** Return the names that are known and those that contracts gave themselves, by address. */
export function listNames(): [string, string[]][] {
  const all = new Map<string, string[]>();
  const named = [...claims.value].filter((entry): entry is [string, string] => entry[1] !== null);
  for (const [address, name] of [...Object.entries(names.value), ...named]) {
    all.set(address, [...(all.get(address) ?? []), name]);
  }
  return [...all];
}

async function loadChain(): Promise<void> {
  const [id, known] = await Promise.all([
    client.request<string>('eth_chainId'),
    client.request<Model[]>('agent_models').catch(() => []),
  ]);
  batch(() => {
    chainId.value = BigInt(id).toString();
    models.value = known;
  });
}

let isChecking = false;
let isDue = false;

/** Ask for the head, and find out whether it continues the chain that the page shows. */
export async function checkHead(): Promise<void> {
  isDue = true;
  if (isChecking) return;
  isChecking = true;
  try {
    while (isDue) {
      isDue = false;
      await readHead();
    }
  } catch {
    // The connection's state tells.
  } finally {
    isChecking = false;
  }
}

async function readHead(): Promise<void> {
  const metadata = await client.request<Metadata>('anvil_metadata');
  const next = { number: metadata.latestBlockNumber, hash: metadata.latestBlockHash };
  const last = head.value;
  if (last && last.hash === next.hash && instanceId === metadata.instanceId) return;
  const change = last ? await findChange(last, next, metadata.instanceId) : null;
  instanceId = metadata.instanceId;
  if (change) await loadChain();
  batch(() => {
    head.value = next;
    if (change) {
      epoch.value += 1;
      live.value = [];
      notice.value = { text: change, at: Date.now() };
    }
  });
}

/** Return what became of the chain whose head was `last`; null if it goes on. */
async function findChange(last: Head, next: Head, instance: string): Promise<string | null> {
  if (instance !== instanceId) {
    return 'The node was started again, or its chain was reset.';
  }
  const block = await client.request<{ hash: string } | null>('eth_getBlockByNumber', [
    `0x${last.number.toString(16)}`,
    false,
  ]);
  if (block?.hash === last.hash) return null;
  const what = next.number < last.number ? 'A revert to a snapshot or a rollback' : 'A reorganisation';
  return `${what} replaced block ${formatInteger(last.number)}; the head is now block ${formatInteger(next.number)}.`;
}

/** A step of a run that goes on. */
export interface LiveStep {
  number: number;
  depth: number;
  agent: string;
  model: string;
  state: 'reading' | 'writing' | 'decided' | 'returned' | 'failed';
  done: number;
  total: number;
  text: string;
  thought: string | null;
  action: string | null;
  input: string | null;
  answer: string | null;
  observation: string | null;
  reason: string | null;
}

export interface LiveRun {
  run: number;
  source: StepEvent['source'];
  hash: string | null;
  requestId: string | null;
  agent: string;
  steps: LiveStep[];
  isSuccess: boolean | null;
  reason: string | null;
}

/** The runs of which the page has seen events, newest first. */
export const live = signal<LiveRun[]>([]);
const MAX_LIVE = 20;

function createStep(event: StepEvent): LiveStep {
  return {
    number: event.step,
    depth: event.depth,
    agent: event.agent,
    model: event.model ?? '',
    state: 'reading',
    done: 0,
    total: 0,
    text: '',
    thought: null,
    action: null,
    input: null,
    answer: null,
    observation: null,
    reason: null,
  };
}

function advance(step: LiveStep, event: StepEvent): LiveStep {
  switch (event.kind) {
    case 'start':
      return { ...createStep(event), total: 0 };
    case 'reading':
    case 'writing':
      return { ...step, state: event.kind, done: event.done ?? 0, total: event.total ?? 0, text: event.text ?? '' };
    case 'tool':
      return {
        ...step,
        state: 'decided',
        thought: event.thought ?? null,
        action: event.action ?? null,
        input: event.input ?? null,
      };
    case 'answer':
      return { ...step, state: 'returned', thought: event.thought ?? null, answer: event.answer ?? null };
    case 'observation':
      return { ...step, state: 'returned', observation: event.observation ?? null, reason: event.reason ?? null };
    case 'failure':
      return { ...step, state: 'failed', reason: event.reason ?? null };
    default:
      return step;
  }
}

/** Return the runs after an event. */
export function applyEvent(runs: LiveRun[], event: StepEvent): LiveRun[] {
  const found = runs.find((run) => run.run === event.run);
  const before: LiveRun = found ?? {
    run: event.run,
    source: event.source,
    hash: event.transactionHash,
    requestId: event.requestId ?? null,
    agent: event.agent,
    steps: [],
    isSuccess: null,
    reason: null,
  };
  let after: LiveRun;
  if (event.kind === 'end' || event.kind === 'fault') {
    after = { ...before, isSuccess: event.isSuccess ?? false, reason: event.reason ?? null };
  } else {
    const step = before.steps.find((each) => each.number === event.step);
    const changed = advance(step ?? createStep(event), event);
    const steps = step ? before.steps.map((each) => (each === step ? changed : each)) : [...before.steps, changed];
    after = { ...before, steps };
  }
  return [after, ...runs.filter((run) => run.run !== event.run)].sort((a, b) => b.run - a.run).slice(0, MAX_LIVE);
}

function announce(event: StepEvent): void {
  const claim = findClaim(event.agent);
  const name = `${findName(event.agent) ?? 'Agent'}${claim === null ? '' : ` “${claim}”`}`;
  if (event.kind === 'start') announcement.value = `${name} began step ${event.step}`;
  else if (event.kind === 'tool') announcement.value = `${name} uses ${event.action}`;
  else if (event.kind === 'answer') announcement.value = `${name} answers: ${event.answer}`;
  else if (event.kind === 'failure' || event.kind === 'fault') announcement.value = `${name}: ${event.reason}`;
  else if (event.kind === 'end') {
    announcement.value = event.isSuccess ? 'The run succeeded' : `The run was reverted: ${event.reason}`;
  }
}

export function start(): void {
  client.subscribe({
    onOpen() {
      connection.value = { state: 'open' };
      void Promise.all([loadChain(), checkHead()]).catch(() => undefined);
    },
    onLost(retryAt) {
      const before = connection.value;
      const since = before.state === 'lost' ? before.since : Date.now();
      connection.value = { state: 'lost', since, retryAt };
      live.value = live.value.filter((run) => run.isSuccess !== null);
    },
    onEvent(method, result) {
      if (method === 'eth_subscription') void checkHead();
      else if (method === 'agent_subscription') {
        live.value = applyEvent(live.value, result as StepEvent);
        announce(result as StepEvent);
      }
    },
  });
  if (client.kind === 'node') {
    setInterval(() => {
      if (connection.value.state === 'open' && !document.hidden) void checkHead();
    }, POLL_MS);
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) void checkHead();
    });
  }
}

export function explainError(error: unknown): string {
  if (error instanceof RpcError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
