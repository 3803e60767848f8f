/** An account or a contract; of an agent or a tool, what models read of it. */

import { useState } from 'preact/hooks';

import { useLoaded } from '../data';
import { formatCount, formatInteger, formatWei, isAddress, toBigInt } from '../format';
import { Word } from '../parts/effects';
import { Fact, Waiting } from '../parts/states';
import { Address, BOX_CHARACTERS, Bytes, Copy, NameText, Text } from '../parts/text';
import { TransactionTable, type Row } from '../parts/transactions';
import { formatRoute } from '../router';
import { client, explainError, findName, head } from '../store';
import type { Description, SearchedTransactions, StorageRange } from '../types';

interface Account {
  balance: string;
  nonce: string;
  code: string;
  description: Description | null;
  searched: SearchedTransactions | null;
  searchError: unknown;
}

const PAGE_ROWS = 25;
const SLOTS = 100;

async function loadAccount(address: string): Promise<Account> {
  if (!isAddress(address)) throw new Error(`address ${address}: must be 0x and 40 digits`);
  let searchError: unknown = null;
  const [balance, nonce, code, description, searched] = await Promise.all([
    client.request<string>('eth_getBalance', [address, 'latest']),
    client.request<string>('eth_getTransactionCount', [address, 'latest']),
    client.request<string>('eth_getCode', [address, 'latest']),
    client.request<Description>('agent_describe', [address]).catch(() => null),
    client
      .request<SearchedTransactions>('ots_searchTransactionsBefore', [address, '0x0', `0x${PAGE_ROWS.toString(16)}`])
      .catch((error: unknown) => {
        searchError = error;
        return null;
      }),
  ]);
  return { balance, nonce, code, description, searched, searchError };
}

export function AddressView({ argument }: { argument: string }) {
  const loaded = useLoaded(`address ${argument} ${head.value?.hash}`, () => loadAccount(argument));
  const [last, setLast] = useState<{ argument: string; data: Account } | null>(null);
  if (loaded.data && loaded.data !== last?.data) setLast({ argument, data: loaded.data });
  const data = loaded.data ?? (last?.argument === argument ? last.data : null);
  const known = data?.description?.contract ?? findName(argument);
  const claim = data?.description?.name;
  const kind = data?.description?.kind;
  return (
    <>
      <header class="title">
        <h1>
          {known ? <NameText text={known} /> : data && data.code !== '0x' ? 'Contract' : 'Account'}
          {claim && claim !== known && (
            <span title="What this contract calls itself">
              {' “'}
              <NameText text={claim} />”
            </span>
          )}
        </h1>
        {kind && <span class="status">{kind}</span>}
        <span class="mono dim hash-text">
          <Text text={argument} />
        </span>
        <Copy text={argument} label="Copy address" />
        {data?.description?.entry && client.kind === 'node' && (
          <div class="actions">
            <a class="button primary" href={formatRoute('ask', argument)}>
              Ask this agent
            </a>
          </div>
        )}
      </header>
      {data ? <Body address={argument} account={data} /> : <Waiting loaded={loaded} what="the account" />}
    </>
  );
}

function Body({ address, account }: { address: string; account: Account }) {
  const { balance, nonce, code, description } = account;
  return (
    <>
      <dl class="facts-grid">
        <Fact label="balance">
          <span class="mono">{formatWei(balance)}</span>
        </Fact>
        <Fact label="nonce">
          <span class="mono">{formatInteger(nonce)}</span>
        </Fact>
        <Fact label="code">
          {code === '0x' ? (
            <span class="dim">none</span>
          ) : (
            <span class="mono">{formatInteger((code.length - 2) / 2)} bytes</span>
          )}
        </Fact>
      </dl>
      {description?.kind && <Told description={description} />}
      <section aria-labelledby="transactions">
        <h2 id="transactions">Transactions</h2>
        <Transactions account={account} />
      </section>
      {code !== '0x' && <Storage address={address} />}
      {code !== '0x' && (
        <details class="section">
          <summary data-stop>Code</summary>
          <Bytes hex={code} label="code" />
        </details>
      )}
    </>
  );
}

/** What a model reads of an agent or a tool. */
function Told({ description }: { description: Description }) {
  return (
    <section aria-labelledby="told">
      <h2 id="told">{description.kind === 'agent' ? 'Agent' : 'Tool'}</h2>
      <dl class="told">
        {description.description !== null && (
          <Fact label="description">
            <Text text={description.description} block />
          </Fact>
        )}
        {description.model !== null && (
          <Fact label="model">
            <Text text={description.model} />
            {description.iterations !== null && (
              <span class="dim">, at most {formatCount(description.iterations, 'step')}</span>
            )}
          </Fact>
        )}
        {description.tools && (
          <Fact label="tools">
            {description.tools.length === 0 && <span class="dim">none</span>}
            <ul class="inline">
              {description.tools.map((tool) => (
                <li key={tool.address}>
                  <Address address={tool.address} name={tool.name} stops />
                </li>
              ))}
            </ul>
          </Fact>
        )}
        {description.basePrompt !== null && (
          <Fact label="base prompt">
            <pre tabIndex={0} aria-label="Base prompt">
              <Text text={description.basePrompt} block limit={BOX_CHARACTERS} />
            </pre>
          </Fact>
        )}
      </dl>
      {description.parameters && description.parameters.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Parameters">
          <table class="rows">
            <caption>Parameters</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">Description</th>
              </tr>
            </thead>
            <tbody>
              {description.parameters.map((parameter, index) => (
                <tr key={index}>
                  <th scope="row">
                    <Text text={parameter.name} />
                  </th>
                  <td class="mono">
                    <Text text={parameter.type} />
                  </td>
                  <td>
                    <Text text={parameter.description} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Transactions({ account }: { account: Account }) {
  const { searched, searchError } = account;
  if (!searched) {
    return (
      <p class="failed">
        <Text text={explainError(searchError)} />
      </p>
    );
  }
  if (searched.txs.length === 0) return <p class="dim">None.</p>;
  const rows = searched.txs.map((transaction, index): Row => ({
    transaction,
    receipt: searched.receipts[index] ?? null,
    run: null,
  }));
  return (
    <>
      <TransactionTable rows={rows} hasBlocks />
      {!searched.lastPage && <p class="dim">The latest {rows.length} or more; older ones are in their blocks.</p>}
    </>
  );
}

function Storage({ address }: { address: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary data-stop>Storage</summary>
      {isOpen && <Slots address={address} />}
    </details>
  );
}

async function loadSlots(address: string, start: string): Promise<StorageRange> {
  const block = await client.request<{ hash: string; transactions: string[] }>('eth_getBlockByNumber', [
    'latest',
    false,
  ]);
  // Before the transaction behind the last one: after the block.
  return client.request<StorageRange>('debug_storageRangeAt', [
    block.hash,
    block.transactions.length,
    address,
    start,
    SLOTS,
  ]);
}

function Slots({ address }: { address: string }) {
  const [starts, setStarts] = useState(['0x00']);
  const start = starts.at(-1)!;
  const loaded = useLoaded(`storage ${address} ${start} ${head.value?.hash}`, () => loadSlots(address, start));
  const { data } = loaded;
  if (!data) return <Waiting loaded={loaded} what="the storage" />;
  const entries = Object.entries(data.storage).sort(([, a], [, b]) => compareKeys(a.key, b.key));
  return (
    <>
      {entries.length === 0 ? (
        <p class="dim">Empty.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="group" aria-label="Storage">
          <table class="rows slots">
            <caption class="hidden">Storage</caption>
            <thead>
              <tr>
                <th scope="col">Slot</th>
                <th scope="col">Value</th>
                <th scope="col" title="What the value is, if it is a text, a number or an address">
                  Read as
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map(([hash, { key, value }]) => (
                <tr key={hash}>
                  {key === null ? (
                    <td class="mono dim" title={`the slot whose hash is ${hash}`}>
                      hash {hash.slice(0, 10)}…
                    </td>
                  ) : (
                    <Word hex={key} />
                  )}
                  <td class="mono">{value.replace(/^0x0*(?=.)/, '0x')}</td>
                  <td>
                    <ReadWord value={value} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div class="actions">
        {starts.length > 1 && (
          <button type="button" onClick={() => setStarts(starts.slice(0, -1))}>
            Previous slots
          </button>
        )}
        {data.nextKey !== null && (
          <button type="button" onClick={() => setStarts([...starts, data.nextKey!])}>
            Next slots
          </button>
        )}
      </div>
    </>
  );
}

function compareKeys(a: string | null, b: string | null): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return a < b ? -1 : 1;
}

const LEAST_LETTERS = 4;
const ADDRESS_BITS = 160n;

/** A word below is taken for a number: an address this small is one in 2^64. */
const NUMBER_BITS = 96n;

/** A word of storage as text, number or address, whichever it looks like: the storage tells no types. */
function ReadWord({ value }: { value: string }) {
  const text = readText(value);
  if (text) return <Text text={text} />;
  const word = toBigInt(value);
  if (word >> ADDRESS_BITS > 0n) return null;
  if (word >> NUMBER_BITS === 0n) return <span class="mono">{formatInteger(value)}</span>;
  return <Address address={`0x${word.toString(16).padStart(40, '0')}`} stops />;
}

/** Return the text in a word, if it begins with printable ASCII. */
function readText(value: string): string {
  const digits = value.slice(2).padStart(64, '0');
  let text = '';
  for (let index = 0; index < digits.length; index += 2) {
    const code = Number.parseInt(digits.slice(index, index + 2), 16);
    if (code < 32 || code > 126) break;
    text += String.fromCharCode(code);
  }
  return text.length >= LEAST_LETTERS ? text : '';
}
