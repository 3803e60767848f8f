/** Views by the fragment of the address: links work in a file, too. */

import { signal } from '@preact/signals';

export type Route = { view: 'overview' } | { view: 'block' | 'tx' | 'address' | 'ask' | 'search'; argument: string };

const VIEWS = new Set(['block', 'tx', 'address', 'ask', 'search']);

export function parseRoute(fragment: string): Route {
  const [view = '', ...rest] = fragment.replace(/^#\/?/, '').split('/');
  if (!VIEWS.has(view)) return { view: 'overview' };
  let argument = rest.join('/');
  try {
    argument = decodeURIComponent(argument);
  } catch {
    // A lone percent sign: taken as it is.
  }
  return { view: view as 'tx', argument };
}

export function formatRoute(view: string, argument: string): string {
  return `#/${view}/${encodeURIComponent(argument)}`;
}

export const route = signal(parseRoute(location.hash));

window.addEventListener('hashchange', () => {
  route.value = parseRoute(location.hash);
  window.scrollTo(0, 0);
  // A screen reader goes on from the new view, not from a link that is gone.
  document.getElementById('main')?.focus({ preventScroll: true });
});

export function open(view: string, argument: string): void {
  location.hash = formatRoute(view, argument);
}
