// The node as an external network, and npm's solc as the compiler.
import { fileURLToPath } from 'node:url';
import ethers from '@nomicfoundation/hardhat-ethers';
import networkHelpers from '@nomicfoundation/hardhat-network-helpers';
import { defineConfig } from 'hardhat/config';

export default defineConfig({
  plugins: [ethers, networkHelpers],
  solidity: { version: '0.8.37', path: fileURLToPath(import.meta.resolve('solc/soljson.js')) },
  networks: {
    agents: { type: 'http', chainType: 'l1', url: process.env.NODE_URL ?? 'http://127.0.0.1:8545' },
  },
});
