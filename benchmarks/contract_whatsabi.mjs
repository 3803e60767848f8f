// What whatsabi says of codes: `node contract_whatsabi.mjs NODE_MODULES < codes.json`.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const { whatsabi } = createRequire(`${process.argv[2]}/`)('@shazow/whatsabi');
const codes = JSON.parse(readFileSync(0, 'utf8'));
const found = {};
for (const [name, code] of Object.entries(codes)) {
  found[name] = whatsabi.abiFromBytecode(code).filter((entry) => entry.type === 'function').map((entry) => ({
    selector: entry.selector,
    isReadOnly: ['view', 'pure'].includes(entry.stateMutability),
    isPayable: Boolean(entry.payable),
  }));
}
process.stdout.write(JSON.stringify(found));
