// What hardhat-ethers makes of every kind of revert.
import { network } from 'hardhat';
import { SCRIPT, deployWallet, print } from './wallet.mjs';

// Its code reverts with its own calldata, so a call of `Error(string)` is refused with that error.
const ECHO = '0x66365f5f37365ffd5f5260076019f3';
const { ethers, provider } = await network.create();
const [first, second] = await ethers.getSigners();
const { usdc, pool, agent } = await deployWallet(ethers);
const { agent: lost } = await deployWallet(ethers, 'gpt-9');
const echo = await new ethers.ContractFactory(['function Error(string)'], ECHO, first).deploy();
const errors = await ethers.getContractAt('IAgentExecutorErrors', lost.target);

async function refused(promise, contract) {
  try {
    await promise;
    return 'not refused';
  } catch (error) {
    const told = error.revert ?? contract.interface.parseError(error.data);
    return `${told.name}(${[...told.args].join(', ')})`;
  }
}

await provider.request({ method: 'agent_setScript', params: [SCRIPT] });
await usdc.approve(pool.target, 1n);
await pool.getFunction('deploy')(usdc.target, 1n);
const broke = usdc.connect(second);
const mined = await usdc.transfer(pool.target, ethers.MaxUint256, { gasLimit: 100_000n });
const receipt = await provider.request({ method: 'eth_getTransactionReceipt', params: [mined.hash] });
print({
  text: await refused(echo.Error.staticCall('not today'), echo),
  panic: await refused(pool.getFunction('deploy').staticCall(usdc.target, ethers.MaxUint256), pool),
  custom: await refused(broke.transfer.staticCall(pool.target, 5n), usdc),
  estimate: await refused(broke.transfer.estimateGas(pool.target, 5n), usdc),
  executor: await refused(lost.instruct.staticCall('Deposit 10 USDC'), errors),
  stranger: await refused(agent.connect(second).instruct.staticCall('Deposit 10 USDC'), agent),
  minedStatus: Number(receipt.status),
});
