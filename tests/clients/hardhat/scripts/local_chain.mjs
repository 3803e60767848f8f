// What tests do with a local chain: Hardhat's network helpers, fees, signatures.
import { network } from 'hardhat';
import { print } from './wallet.mjs';

const { ethers, networkHelpers } = await network.create();
const [first, second] = await ethers.getSigners();
const token = await ethers.deployContract('DemoToken', ['USD Coin', 'USDC', 6, 1_000_000n]);

// Snapshots
const snapshot = await networkHelpers.takeSnapshot();
await token.transfer(second.address, 5n);
const changed = await token.balanceOf(second.address);
await snapshot.restore();
const undone = await token.balanceOf(second.address);
const fixture = async () => token.transfer(second.address, 3n);
await networkHelpers.loadFixture(fixture);
await token.transfer(second.address, 4n);
await networkHelpers.loadFixture(fixture);
const loaded = await token.balanceOf(second.address);

// Impersonation
const stranger = '0x00000000000000000000000000000000000faCe1';
await networkHelpers.setBalance(stranger, ethers.parseEther('1'));
const impersonated = await ethers.getImpersonatedSigner(stranger);
const gift = await (await impersonated.sendTransaction({ to: second.address, value: 7n })).wait();
await networkHelpers.stopImpersonatingAccount(stranger);
const afterwards = await impersonated.sendTransaction({ to: second.address, value: 7n, gasLimit: 21_000n }).catch((e) => e.message);

// Time
const before = await networkHelpers.time.latest();
await networkHelpers.time.increase(3_600);
const later = await networkHelpers.time.latest();
await networkHelpers.time.increaseTo(later + 1_000);
const exact = await networkHelpers.time.latest() - later;
await networkHelpers.mine(3, { interval: 60 });

// State
await networkHelpers.setCode(stranger, '0x6001');
await networkHelpers.setNonce(stranger, 9);
await networkHelpers.setStorageAt(token.target, 7, 42);
const set = [
  await ethers.provider.getCode(stranger),
  await ethers.provider.getTransactionCount(stranger),
  Number(await networkHelpers.getStorageAt(token.target, 7)),
];

// EIP-1559
const fees = await ethers.provider.getFeeData();
const paid = await (await first.sendTransaction({
  to: second.address, value: 1n,
  maxFeePerGas: ethers.parseUnits('10', 'gwei'), maxPriorityFeePerGas: ethers.parseUnits('2', 'gwei'),
})).wait();
const { baseFeePerGas } = await ethers.provider.getBlock(paid.blockNumber);

// EIP-712
const domain = { name: 'Mail', version: '1', chainId: 31337, verifyingContract: token.target };
const types = { Mail: [{ name: 'to', type: 'address' }, { name: 'contents', type: 'string' }] };
const message = { to: second.address, contents: 'Hello' };
const signature = await first.signTypedData(domain, types, message);

print({
  changed, undone, loaded,
  gift: [gift.status, gift.from === stranger], afterwards,
  increased: later - before, exact, set,
  type: paid.type, tip: paid.gasPrice - baseFeePerGas, offered: fees.maxFeePerGas > fees.maxPriorityFeePerGas,
  signer: ethers.verifyTypedData(domain, types, message, signature) === first.address,
});
