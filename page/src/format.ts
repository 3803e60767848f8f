/** Numbers, hashes and texts as the page writes them. */

import type { Numeric } from './types';

export function toBigInt(value: Numeric | null | undefined): bigint {
  return value === null || value === undefined ? 0n : BigInt(value);
}

export function toNumber(value: Numeric | null | undefined): number {
  return Number(toBigInt(value));
}

/** Return an integer with thin groups of three: 3,170,919. */
export function formatInteger(value: Numeric | bigint): string {
  const text = BigInt(value).toString();
  return text.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Return an amount in units of `decimals` digits, exactly: 10.5. */
export function formatUnits(value: Numeric | bigint, decimals: number): string {
  const amount = BigInt(value);
  const sign = amount < 0n ? '−' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return sign + formatInteger(whole) + (fraction ? `.${fraction}` : '');
}

export function formatSigned(value: bigint, decimals: number): string {
  return (value > 0n ? '+' : '') + formatUnits(value, decimals);
}

/** Return wei in the unit that reads best. */
export function formatWei(value: Numeric | bigint): string {
  const wei = BigInt(value);
  const size = wei < 0n ? -wei : wei;
  if (size === 0n) return '0 ETH';
  if (size < 10n ** 6n) return `${formatInteger(wei)} wei`;
  if (size < 10n ** 12n) return `${formatUnits(wei, 9)} gwei`;
  return `${formatUnits(wei, 18)} ETH`;
}

export function formatPercent(part: number, total: number): string {
  if (!total) return '0%';
  const percent = (100 * part) / total;
  return percent > 0 && percent < 1 ? '<1%' : `${Math.round(percent)}%`;
}

/** Return the first and last digits of a hash or an address. */
export function shorten(hex: string): string {
  return hex.length <= 14 ? hex : `${hex.slice(0, 6)}…${hex.slice(-4)}`;
}

/** Return an address in short. Some methods write addresses with a checksum, and others without: all look the same. */
export function shortenAddress(address: string): string {
  return shorten(address.toLowerCase());
}

/** Return a timestamp in Unix seconds as UTC: 2026-11-24 20:15:52. */
export function formatTime(seconds: Numeric): string {
  const date = new Date(toNumber(seconds) * 1000);
  // Later years than a Date holds: 64-bit timestamps are allowed.
  return Number.isNaN(date.getTime()) ? formatInteger(seconds) : date.toISOString().replace('T', ' ').slice(0, 19);
}

/** Return a time in milliseconds as that of the reader's clock: 20:15:52. */
export function formatClock(milliseconds: number): string {
  return new Date(milliseconds).toTimeString().slice(0, 8);
}

export function formatCount(count: number, noun: string, nouns = `${noun}s`): string {
  return `${formatInteger(count)} ${count === 1 ? noun : nouns}`;
}

/**
 * Characters that a reader can't see, or that reorder the text around them: controls, format
 * characters such as U+202E, unpaired surrogates, private use, and line separators.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\u2028\u2029\u115F\u1160\u3164\uFFA0]/u;

export interface TextPart {
  text: string;
  /** The name of an invisible character, such as U+202E. */
  isMark: boolean;
}

/** Split a text into visible parts and the names of its invisible characters; those beside each other are one part. */
export function splitInvisible(text: string, keepsLines: boolean): TextPart[] {
  const parts: TextPart[] = [];
  let plain = '';
  let marks: { name: string; count: number }[] = [];
  const endMarks = () => {
    if (marks.length === 0) return;
    const named = marks.map(({ name, count }) => (count === 1 ? name : `${name} ×${formatInteger(count)}`));
    parts.push({ text: named.join(' '), isMark: true });
    marks = [];
  };
  const endPlain = () => {
    if (plain) parts.push({ text: plain, isMark: false });
    plain = '';
  };
  for (const character of text) {
    if (!INVISIBLE.test(character) || (keepsLines && (character === '\n' || character === '\t'))) {
      endMarks();
      plain += character;
      continue;
    }
    endPlain();
    const name = nameCharacter(character);
    const last = marks.at(-1);
    if (last?.name === name) last.count += 1;
    else marks.push({ name, count: 1 });
  }
  endMarks();
  endPlain();
  return parts;
}

/** Return the first characters of a text, and an ellipsis if it has more; no half of a character. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\uD800-\uDBFF]/.test(text[limit - 1]!) ? limit - 1 : limit;
  return `${text.slice(0, end)}…`;
}

/** Characters of a label that no eye sees at once: a title, or what a screen reader says of a row. */
const LABEL_CHARACTERS = 200;

/** Return the beginning of a text with the names of its invisible characters, for titles and labels. */
export function showInvisible(text: string): string {
  return splitInvisible(cut(text, LABEL_CHARACTERS), false)
    .map((part) => part.text)
    .join('');
}

function nameCharacter(character: string): string {
  if (character === '\n') return '⏎';
  if (character === '\t') return '⇥';
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
}

export function isAddress(text: string): boolean {
  return /^0x[0-9a-f]{40}$/i.test(text);
}

export function isHash(text: string): boolean {
  return /^0x[0-9a-f]{64}$/i.test(text);
}
