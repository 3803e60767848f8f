// An agent is asked, foretold, run and looked at. The sixth argument is "scripted" or "model".
import { JsonRpcProvider, Wallet } from 'ethers';
import { SCRIPT, URL, deployWallet, print } from './wallet.mjs';

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const provider = new JsonRpcProvider(URL, undefined, { cacheTimeout: -1 });
const owner = new Wallet(KEY, provider);
const { usdc, pool, agent, account } = await deployWallet(owner);
if (process.argv[5] === 'scripted') await provider.send('agent_setScript', [SCRIPT]);

const instruction = 'Deposit 10 USDC into the pool';
const estimated = await agent.instruct.estimateGas(instruction);
const foretold = await agent.instruct.staticCall(instruction);
const receipt = await (await agent.instruct(instruction, { gasLimit: estimated })).wait();

const [run] = await agent.queryFilter(agent.filters.AgentRunResult(1), receipt.blockNumber);
const trace = await provider.send('agent_traceTransaction', [receipt.hash]);
print({
  estimated,
  gasUsed: receipt.gasUsed,
  foretold,
  answer: run.args.answer,
  executionSteps: [...run.args.executionSteps],
  events: receipt.logs
    .map((log) => [agent, pool, usdc].find((one) => one.target === log.address)?.interface.parseLog(log)?.name),
  trace: trace.steps.map((step) => [step.thought, step.action, step.answer]),
  traceGas: trace.gas.used,
  inPool: await pool.balanceOf(account.target, usdc.target),
});
provider.destroy();
