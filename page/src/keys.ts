/** Keys of the whole page: `/` search, j and k from row to row, Escape out of a field. */

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Return the rows that j and k go through: links, buttons and summaries of lists. */
function findStops(): HTMLElement[] {
  const all = document.querySelectorAll<HTMLElement>('main [data-stop]');
  return [...all].filter((each) => each.checkVisibility());
}

function move(by: 1 | -1): void {
  const stops = findStops();
  const current = document.activeElement?.closest<HTMLElement>('[data-stop]') ?? null;
  const index = current ? stops.indexOf(current) : -1;
  const next = index < 0 ? (by > 0 ? 0 : stops.length - 1) : index + by;
  stops[next]?.focus();
  stops[next]?.scrollIntoView({ block: 'nearest' });
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      return;
    }
    if (isTyping(event.target)) return;
    if (event.key === '/') {
      document.getElementById('search')?.focus();
      event.preventDefault();
    } else if (event.key === 'j' || event.key === 'k') {
      move(event.key === 'j' ? 1 : -1);
      event.preventDefault();
    }
  });
}
