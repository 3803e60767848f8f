// SPDX-License-Identifier: CC0-1.0
// Compiles every .sol file of this folder into build/<Contract>.json.
//   npm ci && node build.js          writes the artifacts and prints their sizes
//   npm ci && node build.js --check  writes nothing, fails when an artifact differs from its sources
'use strict';

const fs = require('fs');
const path = require('path');
const solc = require('solc');

const ROOT = __dirname;
const BUILD = path.join(ROOT, 'build');
const NOT_SOURCES = new Set(['build', 'node_modules']);
// Source names are paths from the repository's root, so that traces show where a contract is.
const PREFIX = 'contracts/';

// bytecodeHash and appendCBOR: the bytecode is a function of the code alone, not of comments and paths.
const SETTINGS = {
  evmVersion: 'prague',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  optimizer: { enabled: true, runs: 200 },
};

const CODE_SIZE_LIMIT = 24576; // bytes, EIP-170
const INITCODE_SIZE_LIMIT = 49152; // bytes, EIP-3860

function sourcePaths(folder = '') {
  return fs.readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : sourcePaths(name);
    return name.endsWith('.sol') ? [name] : [];
  }).sort();
}

function compile() {
  const sources = {};
  for (const name of sourcePaths()) {
    sources[PREFIX + name] = { content: fs.readFileSync(path.join(ROOT, name), 'utf8') };
  }
  const outputs = ['abi', 'evm.bytecode.object', 'evm.bytecode.sourceMap', 'evm.deployedBytecode.object',
    'evm.deployedBytecode.sourceMap', 'evm.deployedBytecode.immutableReferences'];
  const settings = { ...SETTINGS, outputSelection: { '*': { '*': outputs } } };
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings })));

  const messages = output.errors || [];
  for (const message of messages) console.error(message.formattedMessage);
  if (messages.length > 0) throw new Error(`solc reported ${messages.length} errors or warnings, see above`);
  return output;
}

// A source map names files by number. Only those that this contract's maps mention are listed.
function sourceNames(evm, nameOf) {
  const numbers = new Set();
  for (const map of [evm.bytecode.sourceMap, evm.deployedBytecode.sourceMap]) {
    for (const entry of map.split(';')) {
      const file = entry.split(':')[2];
      if (file !== undefined && nameOf.has(file)) numbers.add(file);
    }
  }
  return Object.fromEntries([...numbers].map((number) => [number, nameOf.get(number)]));
}

function artifacts() {
  const output = compile();
  const nameOf = new Map(Object.entries(output.sources).map(([name, source]) => [String(source.id), name]));
  const found = new Map();
  for (const [sourceName, contracts] of Object.entries(output.contracts)) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (found.has(contractName)) throw new Error(`two contracts are named ${contractName}: rename one`);
      found.set(contractName, {
        contractName,
        sourceName,
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
        immutableReferences: evm.deployedBytecode.immutableReferences || {},
        sourceMap: evm.bytecode.sourceMap,
        deployedSourceMap: evm.deployedBytecode.sourceMap,
        sources: sourceNames(evm, nameOf),
        compiler: { name: 'solc', version: solc.version(), settings: SETTINGS },
      });
    }
  }
  return found;
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

function write(files) {
  fs.rmSync(BUILD, { recursive: true, force: true });
  fs.mkdirSync(BUILD);
  for (const [name, text] of files) fs.writeFileSync(path.join(BUILD, name), text);
}

function check(files) {
  const there = fs.existsSync(BUILD) ? fs.readdirSync(BUILD) : [];
  const wrong = [
    ...there.filter((name) => !files.has(name)).map((name) => `${name}: no such contract`),
    ...[...files].filter(([name]) => !there.includes(name)).map(([name]) => `${name}: missing`),
    ...[...files].filter(([name, text]) => there.includes(name)
      && fs.readFileSync(path.join(BUILD, name), 'utf8') !== text).map(([name]) => `${name}: differs`),
  ];
  if (wrong.length === 0) return;
  console.error(`${wrong.join('\n')}\nbuild/ is not what the sources compile to: run node build.js`);
  process.exitCode = 1;
}

function printSizes(found) {
  console.log('creation  runtime  contract (bytes)');
  for (const [name, artifact] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const creation = artifact.bytecode.length / 2 - 1;
    const runtime = artifact.deployedBytecode.length / 2 - 1;
    if (creation === 0) continue;
    const over = creation > INITCODE_SIZE_LIMIT || runtime > CODE_SIZE_LIMIT ? '  OVER THE LIMIT' : '';
    console.log(`${String(creation).padStart(8)} ${String(runtime).padStart(8)}  ${name}${over}`);
  }
}

const found = artifacts();
const files = new Map([...found].map(([name, artifact]) => [
  `${name}.json`, `${JSON.stringify(sorted(artifact), null, 1)}\n`,
]));
if (process.argv.includes('--check')) {
  check(files);
} else {
  write(files);
  printSizes(found);
}
