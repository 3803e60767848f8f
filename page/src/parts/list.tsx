/** A table of which only the visible rows are in the document: as fast with 10,000 rows as with 10. */

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { showInvisible } from '../format';
import { epoch } from '../store';

export interface Column {
  label: string;
  class?: string;
}

interface ListProps {
  label: string;
  columns: Column[];
  count: number;
  /** Height of each row, in CSS pixels, as in the style sheet. */
  rowHeight: number;
  /** Rows that were added at the top since a list of this key began: the scrolled view stays where it is. */
  added: number;
  /** The cells of a row. */
  row(index: number): ComponentChildren;
  rowKey(index: number): string;
  rowLabel(index: number): string;
  onOpen(index: number): void;
  /** The rows that are in the document now: [first, end). */
  onRange?(first: number, end: number): void;
}

/** Rows in the document above and below the visible ones. */
const MARGIN_ROWS = 8;
const FIRST_ROWS = 30;

/** Where the reader left a list of a chain, by label. */
const places = new Map<string, { top: number; active: number; added: number }>();

export function List(props: ListProps) {
  const { count, rowHeight, columns, added } = props;
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, end: FIRST_ROWS });
  const [active, setActive] = useState(0);
  const name = `${props.label} ${epoch.value}`;
  const focusNext = useRef(false);

  const measure = () => {
    const element = box.current;
    if (!element) return;
    const top = Math.floor(element.scrollTop / rowHeight);
    const visible = Math.ceil(element.clientHeight / rowHeight);
    const first = Math.max(0, top - MARGIN_ROWS);
    const end = top + visible + MARGIN_ROWS;
    setRange((before) => (before.first === first && before.end === end ? before : { first, end }));
  };

  useLayoutEffect(() => {
    const place = places.get(name);
    if (!place || !box.current) return;
    const more = added - place.added;
    setActive(place.active + more);
    if (place.top > 0) box.current.scrollTop = place.top + more * rowHeight;
  }, []);
  useEffect(() => {
    places.set(name, { top: box.current?.scrollTop ?? 0, active, added });
  });
  useLayoutEffect(measure, [count, rowHeight]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const last = useRef(added);
  useLayoutEffect(() => {
    const more = added - last.current;
    last.current = added;
    const element = box.current;
    if (!element || more === 0) return;
    if (element.contains(document.activeElement)) setActive((index) => Math.max(0, index + more));
    if (element.scrollTop > 0) element.scrollTop = Math.max(0, element.scrollTop + more * rowHeight);
  }, [added]);

  const first = Math.min(range.first, Math.max(0, count - 1));
  const end = Math.min(range.end, count);
  useEffect(() => props.onRange?.(first, end), [first, end, added, count]);

  const focusRow = (index: number) => {
    const element = box.current;
    if (!element || !count) return;
    const next = Math.min(Math.max(0, index), count - 1);
    const header = element.querySelector('thead')?.clientHeight ?? 0;
    const top = next * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    const bottom = top + rowHeight + header - element.clientHeight;
    if (bottom > element.scrollTop) element.scrollTop = bottom;
    setActive(next);
    focusNext.current = true;
    measure();
  };
  useLayoutEffect(() => {
    if (!focusNext.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (row) {
      focusNext.current = false;
      row.focus({ preventScroll: true });
    }
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const target = moveIndex(event.key, active, page, count);
    if (target !== null) {
      // Past an end, the page's own j and k go on to the next list.
      if (/^[jk]$/.test(event.key) && (target < 0 || target >= count)) return;
      focusRow(target);
      event.preventDefault();
    } else if (event.key === 'Enter' && event.target === document.activeElement?.closest('tr')) {
      props.onOpen(active);
    }
  };

  const shown = Array.from({ length: Math.max(0, end - first) }, (_, offset) => first + offset);
  const stop = Math.min(Math.max(active, first), Math.max(first, end - 1));
  return (
    <div class="list" ref={box} onScroll={measure} onKeyDown={onKeyDown}>
      <table aria-label={props.label} aria-rowcount={count + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <th scope="col" class={column.class} key={column.label}>
                {column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer rows={first} rowHeight={rowHeight} columns={columns.length} />
          {shown.map((index) => (
            <tr
              key={props.rowKey(index)}
              data-index={index}
              aria-rowindex={index + 2}
              aria-label={showInvisible(props.rowLabel(index))}
              tabIndex={index === stop ? 0 : -1}
              data-stop={index === stop ? true : undefined}
              onFocus={(event) => event.target === event.currentTarget && setActive(index)}
              onClick={(event) => {
                if (!(event.target as HTMLElement).closest('a, button')) props.onOpen(index);
              }}
            >
              {props.row(index)}
            </tr>
          ))}
          <Spacer rows={count - end} rowHeight={rowHeight} columns={columns.length} />
        </tbody>
      </table>
    </div>
  );
}

function Spacer({ rows, rowHeight, columns }: { rows: number; rowHeight: number; columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * rowHeight}px` }} />
    </tr>
  );
}

function moveIndex(key: string, active: number, page: number, count: number): number | null {
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return active + 1;
    case 'k':
    case 'ArrowUp':
      return active - 1;
    case 'PageDown':
      return active + page;
    case 'PageUp':
      return active - page;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
