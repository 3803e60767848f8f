// Heads and logs over WebSocket, as they come.
import { WebSocketProvider, parseUnits } from 'ethers';
import { SCRIPT, URL, deployWallet, print } from './wallet.mjs';

// Without a cache: with one, ethers may count a receipt's confirmations from a block number that is
// 250 ms old, and then wait for a block that never comes.
const provider = new WebSocketProvider(URL.replace('http', 'ws'), undefined, { cacheTimeout: -1 });
const owner = await provider.getSigner(0);
const { agent, usdc, pool } = await deployWallet(owner);
await provider.send('agent_setScript', [SCRIPT]);

const heads = [];
const runs = [];
const both = new Promise((resolve) => {
  const see = () => runs.length === 1 && heads.length >= 2 && resolve();
  provider.on('block', (number) => { heads.push(number); see(); });
  agent.on(agent.filters.AgentRunResult, (runId, requester, steps, answer) => {
    runs.push({ runId, requester, executionSteps: [...steps], answer });
    see();
  });
});
await provider.getBlockNumber(); // The subscriptions were asked for before.
const start = await provider.getBlockNumber();
await (await usdc.transfer(pool.target, parseUnits('1', 6))).wait();
const receipt = await (await agent.instruct('Deposit 10 USDC', { gasLimit: 8_000_000n })).wait();
await both;
print({ heads: heads.map((number) => number - start), runs, mined: receipt.blockNumber - start, owner: owner.address });
await provider.destroy();
