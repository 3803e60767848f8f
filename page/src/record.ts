/** A run as one file: this page, and what the node answered, for a browser without a node. */

import { formatCanonicalJson } from './rpc';
import { flattenSteps } from './script';
import { client } from './store';
import type { Json, Trace, Transaction } from './types';

/** As the overview and a transaction's view ask for. Limits: `blocks.ts`. */
function listRequests(hash: string, number: string): [string, Json[]][] {
  return [
    ['eth_chainId', []],
    ['agent_models', []],
    ['anvil_metadata', []],
    ['agent_getRuns', [number, number, '0x3e8']],
    ['agent_traceCalls', [hash]],
    ['agent_traceTransaction', [hash]],
    ['eth_getBlockByNumber', [number, false]],
    ['eth_getBlockByNumber', [number, true]],
    ['eth_getBlockReceipts', [number]],
    ['eth_getTransactionByHash', [hash]],
    ['eth_getTransactionReceipt', [hash]],
  ];
}

/** Return answers with which the transaction's block is the head, and its runs are all runs. */
function replaceHead(results: Record<string, Json>, number: string): Record<string, Json> {
  const find = (method: string, params: Json[]) => results[formatCanonicalJson([method, params])]!;
  const { hash } = find('eth_getBlockByNumber', [number, false]) as { hash: string };
  const metadata = find('anvil_metadata', []) as { [name: string]: Json };
  return {
    [formatCanonicalJson(['anvil_metadata', []])]: {
      ...metadata,
      latestBlockNumber: Number(number),
      latestBlockHash: hash,
    },
    [formatCanonicalJson(['agent_getRuns', ['0x0', number, '0x64']])]: find('agent_getRuns', [number, number, '0x3e8']),
  };
}

/** Marks the file for `pyevm-agents show`, which reads it. Source: recorded_page.py, `GENERATOR`. */
const GENERATOR = '<meta name="generator" content="pyevm-agents show">';

/** Starts of what has a meaning to HTML within a script element. Source: recorded_page.py. */
const UNSAFE_IN_SCRIPT = /<(?=\/script|script|!--)/gi;

/** Without these, no text ends a script element, begins a comment, or ends a line of JavaScript. */
const UNSAFE_IN_JSON = /[<>&\u2028\u2029]/g;

const NONCE_BYTES = 16;

interface Allowed {
  /** What the content security policy allows. */
  source: string;
  /** The attribute of an element, with a space before it. */
  attribute: string;
}

/**
 * Return what allows an element's text to run: its digest, as in the files of `pyevm-agents show`.
 *
 * Browsers compute digests only in pages of HTTPS or of this machine. In others, a random nonce allows
 * the element; no text of the recording knows it. Source: CSP level 3, sections 2.3.1 and 7.1.
 */
async function allow(text: string): Promise<Allowed> {
  if (isSecureContext) {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
    return { source: `'sha256-${encodeBase64(new Uint8Array(digest))}'`, attribute: '' };
  }
  const nonce = encodeBase64(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  return { source: `'nonce-${nonce}'`, attribute: ` nonce="${nonce}"` };
}

function encodeBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

async function fetchText(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: the node answered ${response.status}`);
  return response.text();
}

/** Return the HTML of a mined transaction's view. */
export async function recordTransaction({ hash, blockNumber }: Transaction): Promise<string> {
  const requests = listRequests(hash, blockNumber!);
  const [style, script, ...results] = await Promise.all([
    fetchText('/app.css'),
    fetchText('/app.js'),
    ...requests.map(([method, params]) => client.request<Json>(method, params)),
  ]);
  const trace = results[requests.findIndex(([method]) => method === 'agent_traceTransaction')] as unknown as Trace;
  const agents = new Set(flattenSteps(trace.steps).map((step) => step.agent.toLowerCase()));
  const described = [...agents].map((agent): [string, Json[]] => ['agent_describe', [agent]]);
  requests.push(...described);
  results.push(...(await Promise.all(described.map(([method, params]) => client.request<Json>(method, params)))));
  const recorded = {
    title: `transaction ${hash.slice(0, 10)}`,
    kind: 'node',
    route: `#/tx/${hash}`,
    note: '',
    results: Object.fromEntries(requests.map((request, index) => [formatCanonicalJson(request), results[index]!])),
  };
  Object.assign(recorded.results, replaceHead(recorded.results, blockNumber!));
  return renderPage(style, script.replaceAll(UNSAFE_IN_SCRIPT, '\\x3c'), recorded);
}

/** Return the HTML of a page. Source: recorded_page.py, `render_recorded_page`. */
async function renderPage(style: string, script: string, recorded: { title: string }): Promise<string> {
  const [styles, scripts] = await Promise.all([allow(style), allow(script)]);
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.source}`,
    `style-src ${styles.source}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const json = JSON.stringify(recorded).replaceAll(UNSAFE_IN_JSON, escape);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
${GENERATOR}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${recorded.title} · pyevm-agents</title>
<style${styles.attribute}>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. It loads nothing from anywhere.</noscript>
<script type="application/json" id="recorded">${json}</script>
<script type="module"${scripts.attribute}>${script}</script>
</body>
</html>
`;
}
