/** Long lists: the first entries, and the others when the reader asks for them. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { formatInteger } from '../format';

/** Entries that are shown at first. */
export const MAX_SHOWN = 100;

/** Return the entries to show, and a button for the others where there are any. */
export function useFirst<T>(list: T[], noun: string): [T[], ComponentChildren] {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || list.length <= MAX_SHOWN) return [list, null];
  return [
    list.slice(0, MAX_SHOWN),
    <button type="button" class="quiet" onClick={() => setWhole(true)}>
      Show {formatInteger(list.length - MAX_SHOWN)} more {noun}
    </button>,
  ];
}
