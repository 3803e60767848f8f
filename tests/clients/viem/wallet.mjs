// The wallet of the demo, deployed with viem: tokens, a pool, and the agent with its account.
import { readFileSync } from 'node:fs';
import { createTestClient, getContract, http, parseUnits, publicActions, walletActions } from 'viem';
import { foundry } from 'viem/chains';

export const [URL, ARTIFACTS, BASE_PROMPT] = process.argv.slice(2);
const EXECUTOR = '0x0000000000000000000000000000000000000019';
export const SCRIPT = [
  { tool: 'DeployTool', arguments: { asset: 'USDC', amount: 10 }, thought: 'Deposit first.' },
  { answer: 'Done.' },
];

export function client(account, transport = http(URL)) {
  return createTestClient({ mode: 'anvil', chain: foundry, account, transport, pollingInterval: 100 })
    .extend(publicActions)
    .extend(walletActions);
}

export function artifact(name) {
  return JSON.parse(readFileSync(`${ARTIFACTS}/${name}.json`, 'utf8'));
}

export async function deploy(wallet, name, ...args) {
  const { abi, bytecode } = artifact(name);
  const hash = await wallet.deployContract({ abi, bytecode, args });
  const { contractAddress } = await wallet.waitForTransactionReceipt({ hash });
  return getContract({ abi, address: contractAddress, client: wallet });
}

export async function deployWallet(wallet, model = 'llama_model_3') {
  const usdc = await deploy(wallet, 'DemoToken', 'USD Coin', 'USDC', 6, parseUnits('1000000', 6));
  const dai = await deploy(wallet, 'DemoToken', 'Dai Stablecoin', 'DAI', 18, parseUnits('1000000', 18));
  const pool = await deploy(wallet, 'LiquidityPool');
  const info = await deploy(wallet, 'TokenInfoTool');
  const names = `USDC = ${usdc.address}\nDAI = ${dai.address}`;
  const prompt = BASE_PROMPT.replace('{addresses}', names).replace('{examples}', '');
  const agent = await deploy(wallet, 'WalletAgent', EXECUTOR, model, pool.address, prompt, info.address);
  const account = await agent.read.account();
  await usdc.write.transfer([account, parseUnits('1000', 6)]);
  return { usdc, dai, pool, agent, account };
}

export function print(told) {
  console.log(JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
}
