// The wallet of the demo, deployed with ethers: tokens, a pool, and the agent with its account.
import { readFileSync } from 'node:fs';
import { Contract, ContractFactory, parseUnits } from 'ethers';

export const [URL, ARTIFACTS, BASE_PROMPT] = process.argv.slice(2);
const EXECUTOR = '0x0000000000000000000000000000000000000019';
export const SCRIPT = [
  { tool: 'DeployTool', arguments: { asset: 'USDC', amount: 10 }, thought: 'Deposit first.' },
  { answer: 'Done.' },
];

export function artifact(name) {
  return JSON.parse(readFileSync(`${ARTIFACTS}/${name}.json`, 'utf8'));
}

export async function deploy(signer, name, ...args) {
  const { abi, bytecode } = artifact(name);
  const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args);
  return contract.waitForDeployment();
}

export async function deployWallet(signer, model = 'llama_model_3') {
  const usdc = await deploy(signer, 'DemoToken', 'USD Coin', 'USDC', 6, parseUnits('1000000', 6));
  const dai = await deploy(signer, 'DemoToken', 'Dai Stablecoin', 'DAI', 18, parseUnits('1000000', 18));
  const pool = await deploy(signer, 'LiquidityPool');
  const info = await deploy(signer, 'TokenInfoTool');
  const names = `USDC = ${usdc.target}\nDAI = ${dai.target}`;
  const prompt = BASE_PROMPT.replace('{addresses}', names).replace('{examples}', '');
  const agent = await deploy(signer, 'WalletAgent', EXECUTOR, model, pool.target, prompt, info.target);
  const account = new Contract(await agent.account(), artifact('WalletAccount').abi, signer);
  await (await usdc.transfer(account.target, parseUnits('1000', 6))).wait();
  return { usdc, dai, pool, agent, account };
}

export function print(told) {
  console.log(JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
}
