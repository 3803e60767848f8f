/** Saving what a view shows as a file. */

import type { Json } from '../types';

export function saveJson(name: string, value: Json): void {
  save(name, `${JSON.stringify(value, null, 2)}\n`, 'application/json');
}

export function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
