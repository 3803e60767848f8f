/** A block and its transactions. */

import { useLoaded } from '../data';
import { formatInteger, formatPercent, formatTime, formatWei, isHash, toNumber } from '../format';
import { Fact, Waiting } from '../parts/states';
import { Address, BlockNumber, Bytes, Copy, NameText } from '../parts/text';
import { TransactionTable, type Row } from '../parts/transactions';
import { getRuns } from '../blocks';
import { client, head } from '../store';
import type { FullBlock, Receipt, Run } from '../types';

interface Loaded {
  block: FullBlock | null;
  receipts: Receipt[];
  runs: Run[];
}

async function loadBlock(argument: string): Promise<Loaded> {
  const byHash = isHash(argument);
  if (!byHash && !/^\d{1,15}$/.test(argument)) throw new Error(`block ${argument}: must be a number or a hash`);
  const block = byHash
    ? await client.request<FullBlock | null>('eth_getBlockByHash', [argument, true])
    : await client.request<FullBlock | null>('eth_getBlockByNumber', [`0x${Number(argument).toString(16)}`, true]);
  if (!block) return { block: null, receipts: [], runs: [] };
  const number = toNumber(block.number);
  const [receipts, runs] = await Promise.all([
    client.request<Receipt[] | null>('eth_getBlockReceipts', [block.number]),
    getRuns(number, number, 1_000).catch(() => []),
  ]);
  return { block, receipts: receipts ?? [], runs };
}

export function BlockView({ argument }: { argument: string }) {
  // A block of the future may come with the next head.
  const last = head.value?.number ?? 0;
  const isFuture = !isHash(argument) && Number(argument) > last;
  const loaded = useLoaded(`block ${argument} ${isFuture ? last : ''}`, () => loadBlock(argument));
  const { data } = loaded;
  if (!data) {
    return (
      <>
        <h1>Block {isHash(argument) ? '' : <NameText text={argument} />}</h1>
        <Waiting loaded={loaded} what="the block" />
      </>
    );
  }
  const { block } = data;
  if (!block) {
    return (
      <>
        <h1>Block {argument}</h1>
        <p>
          There is no such block. The latest one is <BlockNumber number={last} />.
        </p>
      </>
    );
  }
  const number = toNumber(block.number);
  const receipts = new Map(data.receipts.map((receipt) => [receipt.transactionHash, receipt]));
  const runs = new Map(data.runs.map((run) => [run.transactionHash, run]));
  const rows = block.transactions.map((transaction): Row => ({
    transaction,
    receipt: receipts.get(transaction.hash) ?? null,
    run: runs.get(transaction.hash) ?? null,
  }));
  return (
    <>
      <header class="title">
        <h1>Block {formatInteger(number)}</h1>
        <span class="mono dim hash-text">{block.hash}</span>
        <Copy text={block.hash} label="Copy hash" />
        <nav aria-label="Neighbouring blocks" class="actions">
          {number > 0 && (
            <a class="button" href={`#/block/${number - 1}`} rel="prev">
              ← {formatInteger(number - 1)}
            </a>
          )}
          {number < last && (
            <a class="button" href={`#/block/${number + 1}`} rel="next">
              {formatInteger(number + 1)} →
            </a>
          )}
        </nav>
      </header>
      <dl class="facts-grid">
        <Fact label="time (UTC)">
          <span class="mono">{formatTime(block.timestamp)}</span>
        </Fact>
        <Fact label="gas used">
          <span class="mono">{formatInteger(block.gasUsed)}</span>{' '}
          <span class="dim">{formatPercent(toNumber(block.gasUsed), toNumber(block.gasLimit))} of the limit</span>
        </Fact>
        <Fact label="base fee">
          <span class="mono">{formatWei(block.baseFeePerGas ?? '0x0')}</span>
        </Fact>
        <Fact label="fee recipient">
          <Address address={block.miner} />
        </Fact>
        <Fact label="parent">
          {number > 0 ? (
            <a class="mono" href={`#/block/${number - 1}`} title={block.parentHash}>
              {block.parentHash.slice(0, 10)}…
            </a>
          ) : (
            <span class="dim">none: this is the first block</span>
          )}
        </Fact>
        <Fact label="size">
          <span class="mono">{formatInteger(block.size)}</span> bytes
        </Fact>
      </dl>
      <section aria-labelledby="transactions">
        <h2 id="transactions">
          Transactions <span class="dim">{rows.length}</span>
        </h2>
        {rows.length ? <TransactionTable rows={rows} /> : <p class="dim">This block has no transactions.</p>}
      </section>
      <details class="section">
        <summary data-stop>Header</summary>
        <dl class="facts-grid">
          <Fact label="state root">
            <span class="mono wrap">{block.stateRoot}</span>
          </Fact>
          <Fact label="parent">
            <span class="mono wrap">{block.parentHash}</span>
          </Fact>
        </dl>
        <Bytes hex={block.extraData} label="extra data" />
      </details>
    </>
  );
}
