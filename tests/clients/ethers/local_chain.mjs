// What tests do with a local chain: snapshots, impersonation, time, fees, batches, signatures.
import { JsonRpcProvider, parseEther, parseUnits, verifyTypedData } from 'ethers';
import { URL, deploy, print } from './wallet.mjs';

const provider = new JsonRpcProvider(URL, undefined, { cacheTimeout: -1 });
const [first, second] = [await provider.getSigner(0), await provider.getSigner(1)];
const token = await deploy(first, 'DemoToken', 'USD Coin', 'USDC', 6, parseUnits('1000', 6));

// Snapshots
const snapshot = await provider.send('evm_snapshot', []);
await (await token.transfer(second.address, 5n)).wait();
const changed = await token.balanceOf(second.address);
await provider.send('evm_revert', [snapshot]);
const undone = await token.balanceOf(second.address);

// Impersonation
const stranger = '0x00000000000000000000000000000000000faCe1';
await provider.send('anvil_setBalance', [stranger, '0xde0b6b3a7640000']);
await provider.send('anvil_impersonateAccount', [stranger]);
const impersonated = await provider.getSigner(stranger);
const gift = await (await impersonated.sendTransaction({ to: second.address, value: 7n })).wait();
await provider.send('anvil_stopImpersonatingAccount', [stranger]);
const afterwards = await impersonated.sendTransaction({ to: second.address, value: 7n, gasLimit: 21_000n }).catch((e) => e.error?.message ?? e.message);

// Time
const before = (await provider.getBlock('latest')).timestamp;
await provider.send('evm_increaseTime', [3_600]);
await provider.send('evm_mine', []);
const later = (await provider.getBlock('latest')).timestamp;
await provider.send('evm_setNextBlockTimestamp', [later + 1_000]);
await provider.send('evm_mine', []);
const exact = (await provider.getBlock('latest')).timestamp - later;

// EIP-1559
const fees = await provider.getFeeData();
const paid = await (await first.sendTransaction({
  to: second.address, value: parseEther('1'),
  maxFeePerGas: parseUnits('10', 'gwei'), maxPriorityFeePerGas: parseUnits('2', 'gwei'),
})).wait();
const baseFee = (await provider.getBlock(paid.blockNumber)).baseFeePerGas;

// Requests of one tick travel in one batch.
let batch = 0;
provider.on('debug', ({ action, payload }) => {
  if (action === 'sendRpcPayload' && Array.isArray(payload)) batch = Math.max(batch, payload.length);
});
const balances = await Promise.all([first, second].map((one) => provider.getBalance(one.address)));
const numbers = await Promise.all([1, 2, 3].map(() => provider.getBlockNumber()));

// EIP-712
const domain = { name: 'Mail', version: '1', chainId: 31337, verifyingContract: token.target };
const types = { Mail: [{ name: 'to', type: 'address' }, { name: 'contents', type: 'string' }] };
const message = { to: second.address, contents: 'Hello' };
const signature = await first.signTypedData(domain, types, message);

print({
  changed, undone,
  gift: [gift.status, gift.from === stranger], afterwards,
  increased: later - before, exact,
  type: paid.type, tip: paid.gasPrice - baseFee, offered: fees.maxFeePerGas > fees.maxPriorityFeePerGas,
  batch, answers: balances.length + numbers.length,
  signer: verifyTypedData(domain, types, message, signature) === first.address,
});
provider.destroy();
