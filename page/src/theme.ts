/** Dark or light: as the system has it, or as the reader chose. */

import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'pyevm-agents-theme';
const THEMES: Theme[] = ['system', 'light', 'dark'];

function read(): Theme {
  try {
    const stored = localStorage.getItem(KEY) as Theme;
    return THEMES.includes(stored) ? stored : 'system';
  } catch {
    return 'system'; // A file has no storage in some browsers.
  }
}

export const theme = signal<Theme>(read());

export function applyTheme(next: Theme): void {
  theme.value = next;
  if (next === 'system') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // As above.
  }
}

export function nextTheme(): Theme {
  return THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}
