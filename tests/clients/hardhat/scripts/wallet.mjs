// The wallet of the demo, deployed by Hardhat from what it compiled.
export const SCRIPT = [
  { tool: 'DeployTool', arguments: { asset: 'USDC', amount: 10 }, thought: 'Deposit first.' },
  { answer: 'Done.' },
];
const EXECUTOR = '0x0000000000000000000000000000000000000019';

export async function deployWallet(ethers, model = 'llama_model_3') {
  const { parseUnits } = ethers;
  const usdc = await ethers.deployContract('DemoToken', ['USD Coin', 'USDC', 6, parseUnits('1000000', 6)]);
  const dai = await ethers.deployContract('DemoToken', ['Dai Stablecoin', 'DAI', 18, parseUnits('1000000', 18)]);
  const pool = await ethers.deployContract('LiquidityPool');
  const info = await ethers.deployContract('TokenInfoTool');
  const names = `USDC = ${usdc.target}\nDAI = ${dai.target}`;
  const prompt = process.env.BASE_PROMPT.replace('{addresses}', names).replace('{examples}', '');
  const agent = await ethers.deployContract('WalletAgent', [EXECUTOR, model, pool.target, prompt, info.target]);
  const account = await ethers.getContractAt('WalletAccount', await agent.account());
  await usdc.transfer(account.target, parseUnits('1000', 6));
  return { usdc, dai, pool, agent, account };
}

export function print(told) {
  console.log(JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
}
