// What viem makes of every kind of revert.
import { BaseError, ContractFunctionRevertedError, getContract, maxUint256, parseAbi } from 'viem';
import { SCRIPT, artifact, client, deployWallet, print } from './wallet.mjs';

// Its code reverts with its own calldata, so a call of `Error(string)` is refused with that error.
const ECHO = '0x66365f5f37365ffd5f5260076019f3';
const [first, second] = await client().getAddresses();
const wallet = client(first);
const { usdc, pool, agent, account } = await deployWallet(wallet);
const { agent: lost } = await deployWallet(wallet, 'gpt-9');
const { contractAddress } = await wallet.waitForTransactionReceipt({ hash: await wallet.sendTransaction({ data: ECHO }) });
const echo = getContract({ abi: parseAbi(['function Error(string)']), address: contractAddress, client: wallet });

async function refused(promise) {
  try {
    await promise;
    return 'not refused';
  } catch (error) {
    const reverted = error instanceof BaseError && error.walk((one) => one instanceof ContractFunctionRevertedError);
    if (!reverted) throw error;
    const { errorName, args = [] } = reverted.data ?? {};
    return errorName ? `${errorName}(${args.join(', ')})` : (reverted.reason ?? 'no reason');
  }
}

await wallet.request({ method: 'agent_setScript', params: [SCRIPT] });
await usdc.write.approve([pool.address, 1n]);
await pool.write.deploy([usdc.address, 1n]);
const hash = await usdc.write.transfer([pool.address, maxUint256], { gas: 100_000n });
const receipt = await wallet.waitForTransactionReceipt({ hash });
const broke = { account: second };
const withErrors = { address: lost.address, abi: [...lost.abi, ...artifact('IAgentExecutorErrors').abi] };
print({
  text: await refused(echo.simulate.Error(['not today'])),
  panic: await refused(pool.simulate.deploy([usdc.address, maxUint256])),
  custom: await refused(usdc.simulate.transfer([pool.address, 5n], broke)),
  estimate: await refused(usdc.estimateGas.transfer([pool.address, 5n], broke)),
  executor: await refused(wallet.simulateContract({ ...withErrors, functionName: 'instruct', args: ['Deposit 10 USDC'] })),
  stranger: await refused(agent.simulate.instruct(['Deposit 10 USDC'], broke)),
  minedStatus: receipt.status,
  account,
});
