// A token's life on the `anvil` that prool starts for viem's users; writes what they see.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { Instance } from 'prool';
import {
  createTestClient, getContract, http, parseAbiItem, parseEther, parseGwei, publicActions, walletActions,
} from 'viem';
import { foundry } from 'viem/chains';

const HOUR = 3_600n;
const STRANGER = '0x000000000000000000000000000000000000bEEF';
const [part, artifact, upstream, upstreamToken, holder] = process.argv.slice(2);
const { abi, bytecode } = JSON.parse(readFileSync(artifact, 'utf8'));

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function withAnvil(options, use) {
  const port = await freePort();
  const instance = Instance.anvil({ port, stepsTracing: true, ...options });
  await instance.start();
  try {
    const client = createTestClient({
      mode: 'anvil', chain: foundry, transport: http(`http://127.0.0.1:${port}`, { timeout: 300_000 }), pollingInterval: 50,
    }).extend(publicActions).extend(walletActions);
    return await use(client);
  } finally {
    await instance.stop();
  }
}

// A call's value; of an error the names from the outermost to the innermost.
async function outcome(promise) {
  try {
    return await promise;
  } catch (error) {
    const names = [];
    for (let each = error; each instanceof Error; each = each.cause) names.push(each.data?.errorName ?? each.name);
    return names;
  }
}

// A call tree without the gas that the top call was given.
function tree({ type, from, to, input, output, value, gasUsed, error, calls }) {
  return { type, from, to, input, output, value, gasUsed, error, calls: calls?.map(tree) };
}

async function chain(client) {
  const told = {};
  const [account, second] = await client.getAddresses();
  const done = async (hash) => client.waitForTransactionReceipt({ hash: await hash });
  const transfer = (value, to = second) => done(token.write.transfer([to, value], { account }));
  const { contractAddress, status, gasUsed } = await done(
    client.deployContract({ abi, bytecode, account, args: ['Token', 'TKN', 18, 10n ** 24n] }),
  );
  const token = getContract({ abi, address: contractAddress, client });
  told.deployed = [contractAddress, status, gasUsed];
  told.call = [await token.read.symbol(), await token.read.balanceOf([account])];
  told.simulated = (await token.simulate.transfer([second, 5n], { account })).result;
  told.estimate = await token.estimateGas.transfer([second, 5n], { account });

  const sent = await transfer(5n);
  told.sent = [sent.status, sent.gasUsed, sent.type, sent.logs.length, await token.read.balanceOf([second])];
  told.events = (await client.getContractEvents({ abi, address: token.address, fromBlock: 0n }))
    .map(({ eventName, args, blockNumber }) => [eventName, args, blockNumber]);
  told.calls = tree(await client.request({
    method: 'debug_traceTransaction', params: [sent.transactionHash, { tracer: 'callTracer' }],
  }));
  const steps = await client.request({ method: 'debug_traceTransaction', params: [sent.transactionHash] });
  told.steps = [steps.gas, steps.failed, steps.returnValue, steps.structLogs.length];
  told.flat = (await client.request({ method: 'trace_transaction', params: [sent.transactionHash] }))
    .map(({ action, result, traceAddress }) => [action, result, traceAddress]);

  told.refused = [
    await outcome(token.simulate.transfer([account, 6n], { account: second })),
    await outcome(client.estimateGas({ account: STRANGER, to: second, value: 1n })),
  ];
  const failed = await done(token.write.transfer([account, 6n], { account: second, gas: 100_000n }));
  told.failed = [failed.status, failed.gasUsed];

  const id = await client.snapshot();
  await transfer(100n);
  const within = await token.read.balanceOf([second]);
  await client.revert({ id });
  told.snapshot = [within, await token.read.balanceOf([second]), await client.getBlockNumber({ cacheTime: 0 })];

  const time = async () => (await client.getBlock()).timestamp;
  const start = await time();
  await client.increaseTime({ seconds: Number(HOUR) });
  await client.mine({ blocks: 1 });
  told.hour = ((await time()) - start) / HOUR;
  await client.setNextBlockTimestamp({ timestamp: start + 3n * HOUR });
  told.pending = (await client.getBlock({ blockTag: 'pending' })).timestamp - start;
  await client.mine({ blocks: 1 });
  told.exact = (await time()) - start;
  await client.setBlockTimestampInterval({ interval: 60 });
  await client.mine({ blocks: 2 });
  await client.removeBlockTimestampInterval();
  await client.mine({ blocks: 2, interval: Number(HOUR) });
  told.mined = [((await time()) - start) / HOUR, await client.getBlockNumber({ cacheTime: 0 })];

  await client.setBalance({ address: STRANGER, value: parseEther('3') });
  await client.impersonateAccount({ address: STRANGER });
  const gift = await done(client.sendTransaction({ account: STRANGER, to: second, value: parseEther('1') }));
  await client.stopImpersonatingAccount({ address: STRANGER });
  told.gift = [gift.status, gift.gasUsed, await client.getTransactionCount({ address: STRANGER })];
  told.stopped = await outcome(client.sendTransaction({ account: STRANGER, to: second, value: 1n }));
  const unsigned = await client.sendUnsignedTransaction({ from: STRANGER, to: second, value: 7n });
  const { from, value } = await client.getTransaction({ hash: unsigned });
  told.unsigned = [from, value];

  await client.setCode({ address: STRANGER, bytecode: '0x6001' });
  await client.setNonce({ address: STRANGER, nonce: 9 });
  await client.setStorageAt({ address: STRANGER, index: 7, value: `0x${'2a'.padStart(64, '0')}` });
  told.state = [
    await client.getCode({ address: STRANGER }),
    await client.getTransactionCount({ address: STRANGER }),
    await client.getStorageAt({ address: STRANGER, slot: '0x7' }),
  ];
  await client.setCoinbase({ address: STRANGER });
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('20') });
  await client.setBlockGasLimit({ gasLimit: 20_000_000n });
  await client.mine({ blocks: 1 });
  const { miner, baseFeePerGas, gasLimit } = await client.getBlock();
  told.block = [miner, baseFeePerGas, gasLimit];

  await client.setAutomine(false);
  const waiting = await client.sendTransaction({ account, to: second, value: 1n, nonce: 99 });
  const next = await client.sendTransaction({ account, to: second, value: 1n });
  told.pool = [
    await client.getAutomine(), await client.getTxpoolStatus(),
    Object.keys((await client.getTxpoolContent()).queued).length,
    Object.values((await client.inspectTxpool()).pending).map((each) => Object.keys(each)),
  ];
  await client.dropTransaction({ hash: waiting });
  await client.setIntervalMining({ interval: 0 });
  await client.mine({ blocks: 1 });
  told.dropped = [await client.getTxpoolStatus(), (await client.getTransactionReceipt({ hash: next })).status];
  await client.setAutomine(true);

  const state = await client.dumpState();
  await client.setBalance({ address: STRANGER, value: 1n });
  await client.loadState({ state });
  told.loaded = (await client.getBalance({ address: STRANGER })) > 1n;

  let seen;
  const stop = client.watchContractEvent({
    abi, address: token.address, eventName: 'Transfer', onLogs: ([{ args }]) => { seen ??= args.value; },
  });
  while (seen === undefined) await transfer(3n); // The first ones come before the filter.
  stop();
  told.watched = seen;
  told.reset = await outcome(client.reset());
  return told;
}

async function fork(client) {
  const told = {};
  const [account] = await client.getAddresses();
  const token = getContract({ abi, address: upstreamToken, client });
  const height = () => client.getBlockNumber({ cacheTime: 0 });
  const had = await token.read.balanceOf([holder]);
  const hash = await token.write.transfer([holder, 11n], { account });
  const { status, gasUsed } = await client.waitForTransactionReceipt({ hash });
  told.sent = [status, gasUsed, (await token.read.balanceOf([holder])) - had, await height()];
  told.events = (await token.getEvents.Transfer({}, { fromBlock: 0n })).length;
  told.block = (await client.getBlock({ blockNumber: 1n })).transactions.length;
  await client.reset({ jsonRpcUrl: upstream, blockNumber: 2n });
  told.earlier = [await height(), await token.read.balanceOf([holder])];
  told.url = (await outcome(client.setRpcUrl(upstream))) ?? null;
  await client.mine({ blocks: 1 });
  told.later = [await height(), (await client.getLogs({ event: parseAbiItem(
    'event Transfer(address indexed from, address indexed to, uint256 value)'), fromBlock: 0n })).length];
  return told;
}

const story = { chain: () => withAnvil({}, chain), fork: () => withAnvil({ forkUrl: upstream, chainId: 31_337 }, fork) };
const told = await story[part]();
writeFileSync('told.json', JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
