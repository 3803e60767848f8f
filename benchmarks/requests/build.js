// SPDX-License-Identifier: CC0-1.0
// Compiles the contracts of each world into its artifacts.json: ABI, bytecode and NatSpec.
//   (cd contracts && npm ci) && node benchmarks/requests/build.js [WORLD ...]
'use strict';

const fs = require('fs');
const path = require('path');

const CONTRACTS = path.join(__dirname, '..', '..', 'contracts');
const WORLDS = path.join(__dirname, 'worlds');
const solc = require(path.join(CONTRACTS, 'node_modules', 'solc'));

const SETTINGS = {
  evmVersion: 'prague',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  optimizer: { enabled: true, runs: 200 },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'devdoc', 'userdoc'] } },
};

// An import is a file of the world, a contract of this repository (contracts/…), or of an npm package.
function readImport(folder, name) {
  const places = [path.join(folder, name), path.join(CONTRACTS, '..', name), path.join(CONTRACTS, 'node_modules', name)];
  const found = places.find((place) => fs.existsSync(place));
  return found ? { contents: fs.readFileSync(found, 'utf8') } : { error: `${name}: not found` };
}

function build(world) {
  const folder = path.join(WORLDS, world);
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.sol')).sort();
  if (names.length === 0) return;
  const sources = Object.fromEntries(
    names.map((name) => [name, { content: fs.readFileSync(path.join(folder, name), 'utf8') }]),
  );
  const input = JSON.stringify({ language: 'Solidity', sources, settings: SETTINGS });
  const output = JSON.parse(solc.compile(input, { import: (name) => readImport(folder, name) }));
  const errors = (output.errors || []).filter((message) => message.severity === 'error');
  for (const message of errors) console.error(message.formattedMessage);
  if (errors.length > 0) throw new Error(`${world}: ${errors.length} errors`);
  const artifacts = {};
  for (const name of names) {
    for (const [contract, form] of Object.entries(output.contracts[name] || {})) {
      const bytecode = form.evm.bytecode.object;
      if (bytecode === '') continue;
      const { userdoc, devdoc, abi } = form;
      artifacts[contract] = { abi, bytecode, devdoc, userdoc };
    }
  }
  const text = Object.keys(artifacts).sort().map((name) => ` ${JSON.stringify(name)}: ${JSON.stringify(artifacts[name])}`);
  fs.writeFileSync(path.join(folder, 'artifacts.json'), `{\n${text.join(',\n')}\n}\n`);
  console.log(`${world}: ${Object.keys(artifacts).join(', ')}`);
}

const chosen = process.argv.slice(2);
for (const world of chosen.length > 0 ? chosen : fs.readdirSync(WORLDS).sort()) build(world);
