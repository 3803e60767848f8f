// Agents on Hardhat's own network, which has no model: executors of Solidity at 0x19.
import { readFileSync } from 'node:fs';
import { network } from 'hardhat';
import { deployWallet, print } from './wallet.mjs';

const EXECUTOR = '0x0000000000000000000000000000000000000019';

// A network with an executor, whose storage is empty.
async function withExecutor(name) {
  const { ethers, networkHelpers } = await network.create();
  const { abi, deployedBytecode } = JSON.parse(readFileSync(`${process.env.ARTIFACTS}/${name}.json`));
  await networkHelpers.setCode(EXECUTOR, deployedBytecode);
  return { ethers, executor: await ethers.getContractAt(abi, EXECUTOR), ...await deployWallet(ethers) };
}

async function answer(agent, instruction) {
  const receipt = await (await agent.instruct(instruction)).wait();
  const [run] = await agent.queryFilter(agent.filters.AgentRunResult(), receipt.blockNumber);
  return run.args.answer;
}

async function scripted() {
  const { ethers, executor, usdc, pool, agent, account } = await withExecutor('ScriptedAgentExecutor');
  const abi = ethers.AbiCoder.defaultAbiCoder();
  await executor.use('DeployTool', abi.encode(['address', 'uint256'], [usdc.target, 10]), '');
  await executor.answer('Deposited.', '');
  const said = await answer(agent, 'Deposit 10 USDC');
  await executor.assertDone();
  return [said, await pool.balanceOf(account.target, usdc.target)];
}

async function replayed() {
  const { executor, usdc, agent, account } = await withExecutor('ReplayAgentExecutor');
  const [{ steps }] = Object.values(JSON.parse(readFileSync(process.env.REPLAY)));
  for (const step of steps) await executor.record(step);
  await usdc.transfer(account.target, 500_000_000n);
  await account.ownerDeposit(usdc.target, 500_000_000n);
  const said = [
    await answer(agent, 'Deposit 10 USDC into the pool'),
    await answer(agent, 'What is my USDC balance?'),
  ];
  await executor.assertDone();
  return { said, usdc: usdc.target, inferenceGas: await executor.inferenceGas() };
}

print({ scripted: await scripted(), replayed: await replayed() });
