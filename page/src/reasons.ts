/** Reasons of reverts, which contain each other: `ToolCallFailed(tool=0x…, reason=Paused(…))`. */

import { shortenAddress } from './format';
import { findName } from './store';

export const ADDRESS = /0x[0-9a-fA-F]{40}(?![0-9a-fA-F])/g;

const NESTED = /^[A-Za-z_$][\w$]*\((?:[^()]*, )?reason=(.*)\)$/s;

/** Reasons inside each other that are looked through: agents nest less deep; a hostile text can nest 100,000 deep. */
const MAX_NESTED = 20;

/** Return the innermost reason. */
export function findCause(reason: string): string {
  let cause = reason;
  for (let level = 0; level < MAX_NESTED; level++) {
    const inner = NESTED.exec(cause)?.[1];
    if (!inner) break;
    cause = inner;
  }
  return cause;
}

const NO_REASON = 'no reason given';

/** What follows a reason: the call without gas that led to it. */
const STARVED = /^(.*?); (a call of .* ran out of gas.*)$/s;

/** Return why a transaction reverted, for a sentence with "because"; null if nothing tells. */
export function explainRevert(reason: string): string | null {
  const [, given, starved] = STARVED.exec(reason) ?? [null, reason, null];
  const cause = findCause(given!);
  if (cause === NO_REASON) return starved ?? null;
  return starved ? `${cause}; ${starved}` : cause;
}

/** Return a reason without the one inside it, which stands where it arose. */
export function cutCause(reason: string): string {
  const inner = NESTED.exec(reason)?.[1];
  return inner ? `${reason.slice(0, -inner.length - 1)}…)` : reason;
}

/** Return a text with names in place of its addresses, or their first and last digits. */
export function nameAddresses(text: string): string {
  return text.replace(ADDRESS, (address) => findName(address) ?? shortenAddress(address));
}
