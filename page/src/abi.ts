/** Calldata of the calls that ask an agent. */

const WORD_DIGITS = 64;
const STRING_TYPE = 0n; // IERCAgentTool.ParamType.STRING

export type Entry = 'instruct' | 'run' | 'runV1' | 'ask';

/** Selectors of the functions that ask an agent: the first bytes of their signatures' keccak-256. */
const SELECTORS: Record<Entry, string> = {
  instruct: '0x882a5a79', // instruct(string)
  run: '0x2ed0a6f5', // run(((uint8,bytes)[],bytes),address)
  runV1: '0xecb94c0c', // run(((uint8,bytes)[]),address), of the ERC's first draft
  ask: '0x8abb56b9', // ask(string,address)
};

/** Selector of `owner()`, which OwnedAgent has. */
export const OWNER_SELECTOR = '0x8da5cb5b';

const SELECTOR_DIGITS = OWNER_SELECTOR.length;

function word(value: bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0');
}

function bytes(digits: string): string {
  const size = digits.length / 2;
  return word(BigInt(size)) + digits.padEnd(Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS, '0');
}

function toDigits(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Encode the parts of a tuple: static words in place, others behind the heads. */
function tuple(parts: (bigint | string)[]): string {
  let tail = '';
  const heads = parts.map((part) => {
    if (typeof part === 'bigint') return word(part);
    const offset = BigInt((parts.length * WORD_DIGITS + tail.length) / 2);
    tail += part;
    return word(offset);
  });
  return heads.join('') + tail;
}

/** Return the calldata that asks an agent. Input: its entry, the prompt. */
export function encodeAsk(entry: Entry, prompt: string): string {
  const selector = SELECTORS[entry];
  const text = bytes(toDigits(prompt));
  switch (entry) {
    case 'instruct':
      return selector + tuple([text]);
    case 'ask':
      return selector + tuple([text, 0n]);
    case 'run':
    case 'runV1': {
      const value = tuple([text]);
      const params = word(1n) + tuple([tuple([STRING_TYPE, bytes(value)])]);
      return selector + tuple([tuple(entry === 'run' ? [params, bytes(value)] : [params]), 0n]);
    }
  }
}

/** Return the number at a byte of hex digits; NaN outside of them. */
function readNumber(digits: string, offset: number): number {
  const word = digits.slice(2 * offset, 2 * offset + WORD_DIGITS);
  return word.length === WORD_DIGITS ? Number(BigInt(`0x${word}`)) : Number.NaN;
}

/** Return the bytes, in hex digits, to which the word at an offset points. */
function readBytes(digits: string, base: number, offset: number): string | null {
  const start = base + readNumber(digits, base + offset);
  const size = readNumber(digits, start);
  const found = digits.slice(2 * (start + 32), 2 * (start + 32 + size));
  return found.length === 2 * size ? found : null;
}

/** Return the value of the first parameter of a version-1 `Input`; null if it has none. */
function readFirstParam(digits: string): string | null {
  const input = readNumber(digits, 0);
  const params = input + readNumber(digits, input);
  if (readNumber(digits, params) < 1) return null;
  const first = params + 32; // after the number of parameters
  return readBytes(digits, first + readNumber(digits, first), 32);
}

/** Return the prompt in calldata that asks an agent; null if it has none. */
export function decodeAsk(input: string): string | null {
  const selector = input.slice(0, SELECTOR_DIGITS);
  const entry = Object.entries(SELECTORS).find(([, known]) => known === selector)?.[0];
  if (!entry) return null;
  let digits: string | null = input.slice(SELECTOR_DIGITS);
  // `run` has the ABI-encoded prompt as the second part of its first argument.
  if (entry === 'run') digits = readBytes(digits, readNumber(digits, 0), 32);
  if (entry === 'runV1' && digits !== null) digits = readFirstParam(digits);
  const text = digits === null ? null : readBytes(digits, 0, 0);
  if (text === null) return null;
  return new TextDecoder().decode(Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)));
}
