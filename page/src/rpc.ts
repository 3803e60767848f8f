/**
 * JSON-RPC over HTTP and WebSocket of the page's own origin, or from a recording in the document.
 *
 * A recording is `<script type="application/json" id="recorded">` with
 * `{"title": "…", "route": "#/tx/0x…", "results": {"[\"eth_chainId\",[]]": "0x7a69", …}}`: the canonical JSON of
 * `[method, params]`, with sorted names and no spaces, and what the method returned. The page opens
 * at the route, unless its address has another. `"note"` says what is missing. With `"kind": "cassette"`,
 * there is no chain, and `recorded_generations` is the only method.
 */

import type { Json } from './types';

/** An error that the node returned. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** The node did not answer. */
export class ConnectionError extends Error {}

export interface SubscriptionHandlers {
  /** The connection is there, and the subscriptions are made. */
  onOpen(): void;
  /** The connection is gone; the next attempt is at a time in milliseconds. */
  onLost(retryAt: number): void;
  onEvent(method: string, result: unknown): void;
}

export interface Client {
  /** Where requests come from. */
  readonly kind: 'node' | 'recorded' | 'cassette';
  /** Title of a recording. */
  readonly title: string;
  /** What a recording lacks. */
  readonly note: string;
  request<T>(method: string, params?: readonly unknown[], signal?: AbortSignal): Promise<T>;
  /** Subscribe to new heads and to agents' steps, again after each lost connection. */
  subscribe(handlers: SubscriptionHandlers): void;
  /** Connect at once, instead of at the time of the next attempt. */
  reconnect(): void;
}

/** Requests of a batch; the node takes at most 1,000. */
const MAX_BATCH = 200;

/** Methods that may run an agent or a transaction again: they don't wait for each other in a batch. */
const ALONE = /^(agent_(trace|get|estimate|describe|export)|eth_(send|call|estimate)|debug_|ots_)/;

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;

interface Waiting {
  method: string;
  params: readonly unknown[];
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Response {
  id: number;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

export class NodeClient implements Client {
  readonly kind = 'node';
  readonly title = '';
  readonly note = '';
  private waiting: Waiting[] = [];
  private handlers: SubscriptionHandlers | null = null;
  private retries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private socket: WebSocket | null = null;

  /** Input: the address for HTTP, the address for WebSocket. */
  constructor(
    private readonly httpUrl: string,
    private readonly socketUrl: string,
  ) {}

  request<T>(method: string, params: readonly unknown[] = [], signal?: AbortSignal): Promise<T> {
    if (ALONE.test(method) || signal) return this.post<T>(method, params, signal);
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ method, params, resolve: (result) => resolve(result as T), reject });
      if (this.waiting.length === 1) queueMicrotask(() => this.flush());
    });
  }

  private async post<T>(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<T> {
    const response = (await this.fetch({ jsonrpc: '2.0', id: 1, method, params }, signal)) as Response;
    return readResult(response) as T;
  }

  private flush(): void {
    const waiting = this.waiting.splice(0);
    for (let start = 0; start < waiting.length; start += MAX_BATCH) {
      void this.postBatch(waiting.slice(start, start + MAX_BATCH));
    }
  }

  private async postBatch(batch: Waiting[]): Promise<void> {
    const requests = batch.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
    try {
      const responses = (await this.fetch(requests)) as Response[];
      const byId = new Map(responses.map((response) => [response.id, response]));
      batch.forEach((each, id) => {
        try {
          each.resolve(readResult(byId.get(id)));
        } catch (error) {
          each.reject(error as Error);
        }
      });
    } catch (error) {
      for (const each of batch) each.reject(error as Error);
    }
  }

  private async fetch(body: unknown, signal?: AbortSignal): Promise<unknown> {
    try {
      const response = await fetch(this.httpUrl, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        ...(signal ? { signal } : {}),
      });
      return await response.json();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ConnectionError('the node does not answer');
    }
  }

  subscribe(handlers: SubscriptionHandlers): void {
    this.handlers = handlers;
    this.connect();
  }

  reconnect(): void {
    if (this.socket) return;
    this.retries = 0;
    this.connect();
  }

  private connect(): void {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.socketUrl);
    this.socket = socket;
    let isOpen = 0;
    socket.onopen = () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }));
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'agent_subscribe', params: ['steps'] }));
    };
    socket.onmessage = (message: MessageEvent<string>) => {
      const form = JSON.parse(message.data) as { id?: number; method?: string; params?: { result: unknown } };
      if (form.method && form.params) this.handlers?.onEvent(form.method, form.params.result);
      else if (form.id && ++isOpen === 2) {
        this.retries = 0;
        this.handlers?.onOpen();
      }
    };
    socket.onclose = () => {
      this.socket = null;
      const delay = Math.min(FIRST_RETRY_MS * 2 ** this.retries++, LAST_RETRY_MS);
      this.timer = setTimeout(() => this.connect(), delay);
      this.handlers?.onLost(Date.now() + delay);
    };
  }
}

function readResult(response: Response | undefined): unknown {
  if (!response) throw new ConnectionError('the node left out an answer');
  if (response.error) throw new RpcError(response.error.code, response.error.message, response.error.data);
  return response.result;
}

interface Recording {
  title?: string;
  kind?: string;
  route?: string;
  note?: string;
  results: Record<string, unknown>;
}

export class RecordedClient implements Client {
  readonly kind: 'recorded' | 'cassette';
  readonly title: string;
  readonly note: string;
  /** By the request in lower case: an address has letters of either case. */
  private readonly results: ReadonlyMap<string, unknown>;

  /** Input: the text of the document's recording. */
  constructor(text: string) {
    const form = JSON.parse(text) as Recording;
    this.kind = form.kind === 'cassette' ? 'cassette' : 'recorded';
    this.title = form.title ?? '';
    this.note = form.note ?? '';
    if (!location.hash && form.route) history.replaceState(null, '', form.route);
    this.results = new Map(Object.entries(form.results).map(([key, result]) => [key.toLowerCase(), result]));
  }

  request<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    const key = formatCanonicalJson([method, params] as Json).toLowerCase();
    if (this.results.has(key)) return Promise.resolve(this.results.get(key) as T);
    return Promise.reject(new RpcError(-32601, `${method}: not recorded`));
  }

  subscribe(handlers: SubscriptionHandlers): void {
    queueMicrotask(() => handlers.onOpen());
  }

  reconnect(): void {}
}

export function formatCanonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${formatCanonicalJson(value[name]!)}`).join(',')}}`;
}

export function createClient(): Client {
  const recorded = document.getElementById('recorded');
  if (recorded) return new RecordedClient(recorded.textContent ?? '');
  // In development, Vite passes this path on to a node.
  const url = new URL(import.meta.env.DEV ? '/rpc' : '/', location.href);
  const socketUrl = new URL(url);
  socketUrl.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return new NodeClient(url.href, socketUrl.href);
}
