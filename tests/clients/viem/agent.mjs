// An agent is asked, foretold, run and looked at. The sixth argument is "scripted" or "model".
import { parseEventLogs } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { SCRIPT, client, deployWallet, print } from './wallet.mjs';

const owner = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
const wallet = client(owner);
const { usdc, pool, agent, account } = await deployWallet(wallet);
if (process.argv[5] === 'scripted') await wallet.request({ method: 'agent_setScript', params: [SCRIPT] });

const args = ['Deposit 10 USDC into the pool'];
const estimated = await agent.estimateGas.instruct(args, { account: owner });
const { result: foretold } = await agent.simulate.instruct(args);
const hash = await agent.write.instruct(args, { gas: estimated });
const receipt = await wallet.waitForTransactionReceipt({ hash });

const abi = [agent, pool, usdc].flatMap((one) => one.abi.filter(({ type }) => type === 'event'));
const [run] = await agent.getEvents.AgentRunResult({ runId: 1n }, { fromBlock: receipt.blockNumber });
const trace = await wallet.request({ method: 'agent_traceTransaction', params: [hash] });
print({
  estimated,
  gasUsed: receipt.gasUsed,
  foretold,
  answer: run.args.answer,
  executionSteps: run.args.executionSteps,
  events: parseEventLogs({ abi, logs: receipt.logs }).map(({ eventName }) => eventName),
  trace: trace.steps.map((step) => [step.thought, step.action, step.answer]),
  traceGas: trace.gas.used,
  inPool: await pool.read.balanceOf([account, usdc.address]),
});
