// An agent that thinks for longer than viem waits, with viem's own time-outs. The fifth argument is
// the agent's address, the sixth says how it is used.
import { createPublicClient, createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { URL, artifact, print } from './wallet.mjs';

const [, , , , , agent, way] = process.argv;
const owner = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
const transport = http(URL);
const reader = createPublicClient({ chain: foundry, transport });
const writer = (account) => createWalletClient({ chain: foundry, transport, account });
const call = { address: agent, abi: artifact('WalletAgent').abi, functionName: 'instruct', args: ['Deposit 10 USDC'] };

const ways = {
  // viem estimates the gas, signs, sends.
  write: () => writer(owner).writeContract(call),
  // viem signs and sends.
  'write-with-gas': () => writer(owner).writeContract({ ...call, gas: 8_000_000n }),
  // The node estimates, signs and sends.
  unlocked: () => writer(owner.address).writeContract(call),
  call: async () => (await reader.simulateContract({ ...call, account: owner })).result,
};

const begun = Date.now();
const seconds = () => (Date.now() - begun) / 1_000;
const told = { attempts: [] };
while (told.result === undefined && told.attempts.length < 5) {
  try {
    told.result = await ways[way]();
    told.attempts.push([seconds(), null]);
  } catch (error) {
    const why = error.walk((one) => one.name === 'TimeoutError' || one.name === 'ResourceUnavailableRpcError');
    if (!why) throw error;
    told.attempts.push([seconds(), why.name]);
    told.data = why.data ?? why.cause?.data;
    told.reverted = Boolean(error.walk((one) => one.name === 'ContractFunctionRevertedError'));
    if (process.argv[7] === 'once') break;
  }
}
if (told.result && way !== 'call') {
  const receipt = await reader.waitForTransactionReceipt({ hash: told.result });
  told.status = receipt.status;
  told.mined = seconds();
}
print(told);
