// An agent that thinks for longer than viem waits. The fifth argument is the agent's address, the
// sixth says how it is used. Prints a line where viem gave up and where it has a hash, and the
// outcome last.
import { createPublicClient, createWalletClient, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { URL, artifact, print } from './wallet.mjs';

const [, , , , , agent, way] = process.argv;
const owner = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
// viem's default is 10 s. Only what is to be given up has less: the model goes on after that.
const IMPATIENT_MS = 1_000;
let transport = process.argv[7] === 'impatient' ? http(URL, { timeout: IMPATIENT_MS }) : http(URL);
const reader = () => createPublicClient({ chain: foundry, transport });
const writer = (account) => createWalletClient({ chain: foundry, transport, account });
const call = { address: agent, abi: artifact('WalletAgent').abi, functionName: 'instruct', args: ['Deposit 10 USDC'] };

const ways = {
  // viem estimates the gas, signs, sends.
  write: () => writer(owner).writeContract(call),
  // viem signs and sends.
  'write-with-gas': () => writer(owner).writeContract({ ...call, gas: 8_000_000n }),
  // The node estimates, signs and sends.
  unlocked: () => writer(owner.address).writeContract(call),
  call: async () => (await reader().simulateContract({ ...call, account: owner })).result,
};

const told = { attempts: [] };
while (told.result === undefined && told.attempts.length < 5) {
  try {
    told.result = await ways[way]();
    told.attempts.push(null);
  } catch (error) {
    const why = error.walk((one) => one.name === 'TimeoutError' || one.name === 'ResourceUnavailableRpcError');
    if (!why) throw error;
    told.attempts.push(why.name);
    told.data = why.data ?? why.cause?.data;
    told.reverted = Boolean(error.walk((one) => one.name === 'ContractFunctionRevertedError'));
    if (process.argv[7] === 'once') break;
    transport = http(URL);
    console.log('gave up');
  }
}
if (told.result && way !== 'call') {
  console.log('has a hash');
  const receipt = await reader().waitForTransactionReceipt({ hash: told.result });
  told.status = receipt.status;
}
print(told);
