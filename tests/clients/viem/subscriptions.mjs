// Heads and logs over WebSocket, as they come.
import { parseUnits, webSocket } from 'viem';
import { SCRIPT, URL, client, deployWallet, print } from './wallet.mjs';

const transport = webSocket(URL.replace('http', 'ws'));
const [owner] = await client(undefined, transport).getAddresses();
const wallet = client(owner, transport);
const { agent, usdc, pool } = await deployWallet(wallet);
await wallet.request({ method: 'agent_setScript', params: [SCRIPT] });

const start = await wallet.getBlockNumber();
const heads = [];
const runs = [];
let see;
const both = new Promise((resolve) => { see = () => runs.length === 1 && heads.length === 2 && resolve(); });
const ends = [
  wallet.watchBlocks({ onBlock: ({ number }) => { heads.push(number - start); see(); } }),
  agent.watchEvent.AgentRunResult({ runId: 1n }, {
    onLogs: (logs) => { runs.push(...logs.map(({ args }) => args)); see(); },
  }),
];
await new Promise((resolve) => setTimeout(resolve, 300)); // viem doesn't say when it has subscribed.
await usdc.write.transfer([pool.address, parseUnits('1', 6)]);
await agent.write.instruct(['Deposit 10 USDC'], { gas: 8_000_000n });
await both;
print({ heads, runs, owner });
ends.forEach((end) => end());
(await wallet.transport.getRpcClient()).close();
