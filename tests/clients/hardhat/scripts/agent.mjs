// An agent is asked, foretold, run and looked at.
import { network } from 'hardhat';
import { SCRIPT, deployWallet, print } from './wallet.mjs';

const { ethers, provider } = await network.create();
const { usdc, pool, agent, account } = await deployWallet(ethers);
if (process.env.MODEL === 'scripted') await provider.request({ method: 'agent_setScript', params: [SCRIPT] });

const instruction = 'Deposit 10 USDC into the pool';
const estimated = await agent.instruct.estimateGas(instruction);
const foretold = await agent.instruct.staticCall(instruction);
const receipt = await (await agent.instruct(instruction, { gasLimit: estimated })).wait();

const [run] = await agent.queryFilter(agent.filters.AgentRunResult(1), receipt.blockNumber);
const trace = await provider.request({ method: 'agent_traceTransaction', params: [receipt.hash] });
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
