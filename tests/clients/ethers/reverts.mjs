// What ethers makes of every kind of revert.
import { Contract, ContractFactory, JsonRpcProvider, MaxUint256, isCallException } from 'ethers';
import { SCRIPT, URL, artifact, deployWallet, print } from './wallet.mjs';

// Its code reverts with its own calldata, so a call of `Error(string)` is refused with that error.
const ECHO = '0x66365f5f37365ffd5f5260076019f3';
const provider = new JsonRpcProvider(URL, undefined, { cacheTimeout: -1 });
const owner = await provider.getSigner(0);
const errors = artifact('IAgentExecutorErrors').abi;
const { usdc, pool, agent } = await deployWallet(owner);
const { agent: lost } = await deployWallet(owner, 'gpt-9');
const echo = await (await new ContractFactory(['function Error(string)'], ECHO, owner).deploy()).waitForDeployment();

// A call's error is decoded by ethers; an estimate's has the data alone.
async function refused(promise, contract) {
  try {
    await promise;
    return 'not refused';
  } catch (error) {
    if (!isCallException(error)) throw error;
    const told = error.revert ?? (error.data && contract?.interface.parseError(error.data));
    return told ? `${told.name}(${[...told.args].join(', ')})` : (error.reason ?? 'no reason');
  }
}

const withErrors = (contract) => new Contract(contract.target, [...contract.interface.fragments, ...errors], owner);
await provider.send('agent_setScript', [SCRIPT]);
await (await usdc.approve(pool.target, 1n)).wait();
await (await pool.getFunction('deploy')(usdc.target, 1n)).wait();
const broke = usdc.connect(await provider.getSigner(1));
const mined = await usdc.transfer(pool.target, MaxUint256, { gasLimit: 100_000n });
const receipt = await provider.waitForTransaction(mined.hash);
print({
  text: await refused(echo.Error.staticCall('not today')),
  panic: await refused(pool.getFunction('deploy').staticCall(usdc.target, MaxUint256)),
  custom: await refused(broke.transfer.staticCall(pool.target, 5n)),
  estimate: await refused(broke.transfer.estimateGas(pool.target, 5n), broke),
  send: await refused(broke.transfer(pool.target, 5n), broke),
  executor: await refused(withErrors(lost).instruct.staticCall('Deposit 10 USDC')),
  stranger: await refused(agent.connect(await provider.getSigner(1)).instruct.staticCall('Deposit 10 USDC')),
  minedStatus: receipt.status,
  waited: await refused(mined.wait()),
  second: (await provider.getSigner(1)).address,
});
provider.destroy();
