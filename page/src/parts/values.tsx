/** Decoded values of calls: addresses by name, integers in groups, texts as data. */

import { formatInteger, isAddress, shorten } from '../format';
import type { Argument, Component, Json } from '../types';
import { Address, NameText, Text } from './text';

const LONG_HEX = 66;
const MAX_ITEMS = 20;

/** An integer of at most 256 bits. */
export const INTEGER = /^-?\d{1,78}$/;

/** Longer texts among arguments are cut until the reader asks for all of them. */
const SHOWN_CHARACTERS = 160;

/** Return the types of a tuple's members. */
function splitTuple(type: string): Component[] {
  const members: Component[] = [];
  let depth = 0;
  let start = 1;
  for (let index = 1; index < type.length; index++) {
    const character = type[index];
    if (depth === 0 && (character === ',' || character === ')')) {
      members.push({ name: '', type: type.slice(start, index) });
      start = index + 1;
    }
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
  }
  return members;
}

interface ValueProps {
  value: Json;
  type: string;
  /** The members of a tuple, or of an array's tuples, where they are known. */
  components?: Component[] | undefined;
}

export function Value({ value, type, components }: ValueProps) {
  if (Array.isArray(value) && type.startsWith('(') && type.endsWith(')')) {
    const members = components ?? splitTuple(type);
    return (
      <>
        (
        <Arguments list={members.map((member, index): Argument => ({ ...member, value: value[index] ?? null }))} />)
      </>
    );
  }
  if (Array.isArray(value)) {
    const inner = type.replace(/\[\d*\]$/, '');
    const shown = value.slice(0, MAX_ITEMS);
    return (
      <>
        [
        {shown.map((item, index) => (
          <span key={index}>
            {index > 0 && ', '}
            <Value value={item} type={inner} components={components} />
          </span>
        ))}
        {value.length > shown.length && `, and ${value.length - shown.length} more`}]
      </>
    );
  }
  if (value === null) return <span class="dim">null</span>;
  if (typeof value === 'object') return <Text text={JSON.stringify(value)} limit={SHOWN_CHARACTERS} />;
  const text = String(value);
  if (isAddress(text) && (type === 'address' || type === '')) return <Address address={text} />;
  if (/^u?int/.test(type) && INTEGER.test(text)) return <span class="mono">{formatInteger(text)}</span>;
  if (/^bytes/.test(type) && text.length > LONG_HEX) {
    return (
      <span class="mono" title={text.slice(0, 2_000)}>
        {shorten(text)} <span class="dim">({((text.length - 2) / 2).toLocaleString('en')} bytes)</span>
      </span>
    );
  }
  if (type === 'string') {
    return (
      <span class="string">
        “<Text text={text} limit={SHOWN_CHARACTERS} />”
      </span>
    );
  }
  return (
    <span class="mono">
      <Text text={text} limit={SHOWN_CHARACTERS} />
    </span>
  );
}

export function Arguments({ list }: { list: Argument[] }) {
  return (
    <>
      {list.map((argument, index) => (
        <span key={index}>
          {index > 0 && ', '}
          {argument.name && (
            <span class="dim">
              <NameText text={argument.name} />:{' '}
            </span>
          )}
          <Value {...argument} />
        </span>
      ))}
    </>
  );
}
