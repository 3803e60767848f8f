/** Texts of contracts and models, addresses and hashes: data, never HTML. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { cut, formatInteger, shorten, shortenAddress, showInvisible, splitInvisible } from '../format';
import { connection, epoch, findClaim, findName, loadClaim } from '../store';
import { ADDRESS } from '../reasons';
import { formatRoute } from '../router';

/** Longer texts are cut until the reader asks for more of them. */
const MAX_CHARACTERS = 1_000;

/** Of a text in a box that scrolls. */
export const BOX_CHARACTERS = 20_000;

/** Of a text in a row or a cell, which has no room for more; the rest is in a view of its own. */
const CELL_CHARACTERS = 200;

/** Of a name or a symbol. */
const NAME_CHARACTERS = 48;

/** What one press of the button shows: a browser takes seconds for a text of a megabyte. */
const MORE_CHARACTERS = 100_000;

interface TextProps {
  text: string;
  /** Whether lines stay lines; else a line break is a mark. */
  block?: boolean;
  /** Characters to show at first. */
  limit?: number;
}

/** Return the beginning of a text, and a button for more where there is more. */
function useCut(text: string, limit: number): [string, ComponentChildren] {
  const [extra, setExtra] = useState(0);
  const shown = limit + extra;
  if (text.length <= shown) return [text, null];
  const isLast = text.length - shown <= MORE_CHARACTERS;
  return [
    cut(text, shown),
    <button type="button" class="quiet more-text" onClick={() => setExtra(extra + MORE_CHARACTERS)}>
      {isLast ? 'Show all' : `Show ${formatInteger(MORE_CHARACTERS)} more of`} {formatInteger(text.length)} characters
    </button>,
  ];
}

/** A text that is data: isolated from the direction of the text around it, and without hidden characters. */
export function Text({ text, block = false, limit = MAX_CHARACTERS }: TextProps) {
  const [shown, more] = useCut(text, limit);
  return (
    <>
      <Plain text={shown} block={block} />
      {more}
    </>
  );
}

/** The beginning of a text, in a row or a cell. */
export function ShortText({ text }: { text: string }) {
  return <Plain text={cut(text, CELL_CHARACTERS)} />;
}

/** A name or a symbol that a contract gave. */
export function NameText({ text }: { text: string }) {
  return <Plain text={cut(text, NAME_CHARACTERS)} />;
}

function Plain({ text, block = false }: { text: string; block?: boolean }) {
  return (
    <bdi class={block ? 'text block' : 'text'}>
      {splitInvisible(text, block).map((part, index) =>
        part.isMark ? (
          <span class="mark" key={index} title="an invisible character">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
    } catch {
      setDone(false); // The browser refuses; the text is in the title.
    }
  };
  return (
    <button
      type="button"
      class="copy"
      title={label}
      aria-label={isDone ? 'Copied' : label}
      onClick={copy}
      onBlur={() => setDone(false)}
    >
      <svg viewBox="0 0 12 12" width="12" height="12" fill="none" stroke="currentColor" aria-hidden="true">
        {isDone ? <path d="M2 6.5 5 9.5 10 3" /> : <path d="M4.5 4.5h6v6h-6zM2.5 7.5h-1v-6h6v1" />}
      </svg>
    </button>
  );
}

interface AddressProps {
  address: string;
  /** A name that the view knows; else the page's own. */
  name?: string | null;
  copies?: boolean;
  stops?: boolean;
  /** Whether it may be an agent, whose own name stands beside the address. */
  claims?: boolean;
  /** Whether it is in a list, whose rows are one stop of Tab. */
  listed?: boolean;
}

export function Address({ address, name, copies = false, stops = false, claims = false, listed = false }: AddressProps) {
  const known = name || findName(address);
  return (
    <span class="address">
      <a
        href={formatRoute('address', address)}
        title={known ? `${showInvisible(known)} ${address}` : address}
        {...(stops ? { 'data-stop': true } : {})}
        {...(listed ? { tabIndex: -1 } : {})}
      >
        {known ? <NameText text={known} /> : null}
        <span class={known ? 'mono dim' : 'mono'}>{shortenAddress(address)}</span>
      </a>
      {claims && <Claim address={address} />}
      {copies && <Copy text={address} label={`Copy address ${shortenAddress(address)}`} />}
    </span>
  );
}

/** What an agent calls itself. Any contract can take any name, so it stands beside an address and in quotes. */
function Claim({ address }: { address: string }) {
  const chain = epoch.value;
  const isOpen = connection.value.state === 'open';
  useEffect(() => {
    if (isOpen) void loadClaim(address);
  }, [address, chain, isOpen]);
  const name = findClaim(address);
  if (!name) return null;
  return (
    <>
      <wbr />
      <span class="claim" title={`${showInvisible(name)}: what this contract calls itself`}>
        “<NameText text={name} />”
      </span>
    </>
  );
}

/** A text in which addresses have their names. */
export function TextWithNames({ text, block = false, limit = MAX_CHARACTERS }: TextProps) {
  const [shown, more] = useCut(text, limit);
  const parts: (string | { address: string })[] = [];
  let end = 0;
  for (const match of shown.matchAll(ADDRESS)) {
    parts.push(shown.slice(end, match.index), { address: match[0] });
    end = match.index + match[0].length;
  }
  return (
    <>
      <bdi class={block ? 'text block' : 'text'}>
        {[...parts, shown.slice(end)].map((part, index) =>
          typeof part === 'string' ? (
            part && <Plain key={index} text={part} block={block} />
          ) : (
            <Address key={index} address={part.address} />
          ),
        )}
      </bdi>
      {more}
    </>
  );
}

export function TxHash({ hash, copies = false }: { hash: string; copies?: boolean }) {
  return (
    <span class="address">
      <a class="mono" href={formatRoute('tx', hash)} title={hash}>
        {shorten(hash)}
      </a>
      {copies && <Copy text={hash} label="Copy hash" />}
    </span>
  );
}

export function BlockNumber({ number }: { number: number }) {
  return (
    <a class="mono" href={formatRoute('block', String(number))}>
      {formatInteger(number)}
    </a>
  );
}

/** Bytes in hex, in a box that scrolls. */
export function Bytes({ hex, label }: { hex: string; label: string }) {
  const size = Math.max(0, (hex.length - 2) / 2);
  return (
    <div class="bytes">
      <div class="bar">
        <span class="dim">{size.toLocaleString('en')} bytes</span>
        <Copy text={hex} label={`Copy ${label}`} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        <Text text={hex} block limit={BOX_CHARACTERS} />
      </pre>
    </div>
  );
}
