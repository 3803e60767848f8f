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

/** The file runs no other script than its own, and loads nothing. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

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
    route: `#/tx/${hash}`,
    results: Object.fromEntries(requests.map((request, index) => [formatCanonicalJson(request), results[index]!])),
  };
  Object.assign(recorded.results, replaceHead(recorded.results, blockNumber!));
  // In a script, only this ends the element; in JSON, it is written otherwise.
  const json = JSON.stringify(recorded).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>pyevm-agents</title>
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="recorded">${json}</script>
<script type="module">${script.replaceAll('</script', '<\\/script')}</script>
</body>
</html>
`;
}
