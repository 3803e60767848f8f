// What tests do with a local chain: viem's test client, fees, batches, signatures.
import { http, parseEther, parseGwei, parseUnits, verifyTypedData } from 'viem';
import { URL, client, deploy, print } from './wallet.mjs';

const [first, second] = await client().getAddresses();
const wallet = client(first);
const token = await deploy(wallet, 'DemoToken', 'USD Coin', 'USDC', 6, parseUnits('1000', 6));

// Snapshots
const id = await wallet.snapshot();
await token.write.transfer([second, 5n]);
const changed = await token.read.balanceOf([second]);
await wallet.revert({ id });
const undone = await token.read.balanceOf([second]);

// Impersonation
const address = '0x00000000000000000000000000000000000faCe1';
await wallet.setBalance({ address, value: parseEther('1') });
await wallet.impersonateAccount({ address });
const hash = await wallet.sendTransaction({ account: address, to: second, value: 7n });
const gift = await wallet.waitForTransactionReceipt({ hash });
await wallet.stopImpersonatingAccount({ address });
const afterwards = await wallet.sendTransaction({ account: address, to: second, value: 7n }).catch((e) => e.details);

// Time
const { timestamp: before } = await wallet.getBlock();
await wallet.increaseTime({ seconds: 3_600 });
await wallet.mine({ blocks: 1 });
const { timestamp: later } = await wallet.getBlock();
await wallet.setNextBlockTimestamp({ timestamp: later + 1_000n });
await wallet.mine({ blocks: 1 });
const { timestamp: exact } = await wallet.getBlock();
await wallet.mine({ blocks: 3, interval: 60 });
const { timestamp: last } = await wallet.getBlock();

// Mining by hand, and what waits meanwhile
await wallet.setAutomine(false);
const waiting = await wallet.sendTransaction({ to: second, value: 1n });
const { pending } = await wallet.getTxpoolStatus();
await wallet.dropTransaction({ hash: waiting });
const { pending: none } = await wallet.getTxpoolStatus();
await wallet.setAutomine(true);

// State
await wallet.setCode({ address, bytecode: '0x6001' });
await wallet.setNonce({ address, nonce: 9 });
await wallet.setStorageAt({ address: token.address, index: 7, value: `0x${'2a'.padStart(64, '0')}` });
const set = [
  await wallet.getCode({ address }),
  await wallet.getTransactionCount({ address }),
  BigInt(await wallet.getStorageAt({ address: token.address, slot: '0x7' })),
];

// EIP-1559
const fees = await wallet.estimateFeesPerGas();
const paid = await wallet.waitForTransactionReceipt({
  hash: await wallet.sendTransaction({
    to: second, value: parseEther('1'), maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: parseGwei('2'),
  }),
});
const { baseFeePerGas } = await wallet.getBlock({ blockNumber: paid.blockNumber });

// Requests of one tick travel in one batch.
let batch = 0;
const onFetchRequest = async (request) => {
  const body = JSON.parse(await request.clone().text());
  if (Array.isArray(body)) batch = Math.max(batch, body.length);
};
const together = client(first, http(URL, { batch: true, onFetchRequest }));
const answers = await Promise.all([
  together.getBalance({ address: first }), together.getBlockNumber({ cacheTime: 0 }), together.getChainId(),
]);

// EIP-712
const typed = {
  domain: { name: 'Mail', version: '1', chainId: 31337, verifyingContract: token.address },
  types: { Mail: [{ name: 'to', type: 'address' }, { name: 'contents', type: 'string' }] },
  primaryType: 'Mail',
  message: { to: second, contents: 'Hello' },
};
const signature = await wallet.signTypedData(typed);

print({
  changed, undone,
  gift: [gift.status, gift.from === address.toLowerCase()], afterwards,
  increased: later - before, exact: exact - later, interval: last - exact,
  pending, none, set,
  type: paid.type, tip: paid.effectiveGasPrice - baseFeePerGas,
  offered: fees.maxFeePerGas > fees.maxPriorityFeePerGas,
  batch, answers: answers.length,
  signer: await verifyTypedData({ ...typed, address: first, signature }),
});
