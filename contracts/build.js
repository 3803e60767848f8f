// SPDX-License-Identifier: CC0-1.0
// Compiles every .sol file of this folder into build/<Contract>.json.
//   npm ci && node build.js          writes the artifacts and prints their sizes
//   npm ci && node build.js --check  writes nothing, fails when an artifact differs from its sources
// build.sha256 has the digest of what was compiled, of the compiler's version and of the artifacts.
'use strict';

const crypto = require('crypto');
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

// What an import of an npm package names, for example @openzeppelin/contracts/….
function readPackage(name) {
  try {
    return { contents: fs.readFileSync(path.join(ROOT, 'node_modules', name), 'utf8') };
  } catch (error) {
    return { error: `${error.message}: run npm ci` };
  }
}

function compile() {
  const sources = {};
  for (const name of sourcePaths()) {
    sources[PREFIX + name] = { content: fs.readFileSync(path.join(ROOT, name), 'utf8') };
  }
  const outputs = ['abi', 'evm.bytecode.object', 'evm.bytecode.sourceMap', 'evm.deployedBytecode.object',
    'evm.deployedBytecode.sourceMap', 'evm.deployedBytecode.immutableReferences'];
  const settings = { ...SETTINGS, outputSelection: { '*': { '*': outputs } } };
  const input = JSON.stringify({ language: 'Solidity', sources, settings });
  const output = JSON.parse(solc.compile(input, { import: readPackage }));

  const messages = (output.errors || []).filter((message) => message.severity === 'error'
    || !message.sourceLocation || message.sourceLocation.file.startsWith(PREFIX)); // not a package's warnings
  for (const message of messages) console.error(message.formattedMessage);
  if (messages.length > 0) throw new Error(`solc reported ${messages.length} errors or warnings, see above`);
  return output;
}

// A source map names files by the numbers of one compilation. Here they are numbered for each contract, by name, so
// that an artifact depends on its own sources alone. Numbers after the last name are the compiler's own code.
function sourceMaps(evm, nameOf) {
  const maps = [evm.bytecode.sourceMap, evm.deployedBytecode.sourceMap];
  const used = new Set(maps.flatMap((map) => map.split(';').map((entry) => entry.split(':')[2]))
    .filter((file) => file !== undefined && file !== '' && file !== '-1'));
  const named = [...used].filter((file) => nameOf.has(file)).sort((a, b) => (nameOf.get(a) < nameOf.get(b) ? -1 : 1));
  const others = [...used].filter((file) => !nameOf.has(file)).sort((a, b) => a - b);
  const numberOf = new Map([...named, ...others].map((file, number) => [file, String(number)]));
  const renumbered = maps.map((map) => map.split(';').map((entry) => {
    const fields = entry.split(':');
    if (numberOf.has(fields[2])) fields[2] = numberOf.get(fields[2]);
    return fields.join(':');
  }).join(';'));
  const sources = Object.fromEntries(named.map((file) => [numberOf.get(file), nameOf.get(file)]));
  return { sourceMap: renumbered[0], deployedSourceMap: renumbered[1], sources };
}

// Immutables are named by numbers of one compilation too; here by their order.
function immutableReferences(evm) {
  const found = Object.entries(evm.deployedBytecode.immutableReferences || {}).sort(([a], [b]) => a - b);
  return Object.fromEntries(found.map(([, places], number) => [String(number), places]));
}

function artifacts() {
  const output = compile();
  const nameOf = new Map(Object.entries(output.sources).map(([name, source]) => [String(source.id), name]));
  const found = new Map();
  for (const [sourceName, contracts] of Object.entries(output.contracts)) {
    if (!sourceName.startsWith(PREFIX)) continue; // a package's
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      if (found.has(contractName)) throw new Error(`two contracts are named ${contractName}: rename one`);
      found.set(contractName, {
        contractName,
        sourceName,
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
        immutableReferences: immutableReferences(evm),
        ...sourceMaps(evm, nameOf),
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

// SHA-256 of a line for each source, this file, the packages' lock and each artifact: its SHA-256 and its path.
function digest() {
  const names = [...sourcePaths(), 'build.js', 'package-lock.json',
    ...fs.readdirSync(BUILD).map((name) => `build/${name}`)].sort();
  const hash = (data) => crypto.createHash('sha256').update(data).digest('hex');
  return hash(names.map((name) => `${hash(fs.readFileSync(path.join(ROOT, name)))}  ${name}\n`).join(''));
}

function write(files) {
  fs.rmSync(BUILD, { recursive: true, force: true });
  fs.mkdirSync(BUILD);
  for (const [name, text] of files) fs.writeFileSync(path.join(BUILD, name), text);
  fs.writeFileSync(path.join(ROOT, 'build.sha256'), `${digest()}\n`);
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
