// An external network, as a project that uses the node has it.
import ethers from '@nomicfoundation/hardhat-ethers';
import networkHelpers from '@nomicfoundation/hardhat-network-helpers';
import { defineConfig } from 'hardhat/config';

export default defineConfig({
  plugins: [ethers, networkHelpers],
  networks: {
    agents: { type: 'http', chainType: 'l1', url: process.env.NODE_URL },
  },
});
