/** A table of transactions, with what an agent was asked where one ran. */

import { decodeAsk } from '../abi';
import { formatInteger, formatWei, toBigInt, toNumber } from '../format';
import type { Receipt, Run, Transaction } from '../types';
import { Address, BlockNumber, ShortText } from './text';

export interface Row {
  transaction: Transaction;
  receipt: Pick<Receipt, 'status' | 'gasUsed' | 'contractAddress'> | null;
  run: Run | null;
}

export function TransactionTable({ rows, hasBlocks = false }: { rows: Row[]; hasBlocks?: boolean }) {
  return (
    <div class="scroll">
      <table class="rows">
        <thead>
          <tr>
            {hasBlocks && (
              <th scope="col" class="number">
                Block
              </th>
            )}
            <th scope="col">Hash</th>
            <th scope="col">What</th>
            <th scope="col">Status</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col" class="number">
              Gas
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ transaction, receipt, run }) => (
            <tr key={transaction.hash}>
              {hasBlocks && (
                <td class="number">
                  {transaction.blockNumber && <BlockNumber number={toNumber(transaction.blockNumber)} />}
                </td>
              )}
              <td>
                <a class="mono" href={`#/tx/${transaction.hash}`} title={transaction.hash} data-stop>
                  <TxText hash={transaction.hash} />
                </a>
              </td>
              <td class="clip">
                <What transaction={transaction} run={run} />
              </td>
              <td>{receipt && <Status isSuccess={toNumber(receipt.status) === 1} />}</td>
              <td>
                <Address address={transaction.from} />
              </td>
              <td>
                <Target transaction={transaction} created={receipt?.contractAddress ?? null} />
              </td>
              <td class="number mono">{toBigInt(transaction.value) > 0n ? formatWei(transaction.value) : ''}</td>
              <td class="number mono">{receipt && formatInteger(receipt.gasUsed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TxText({ hash }: { hash: string }) {
  return (
    <>
      {hash.slice(0, 6)}…{hash.slice(-4)}
    </>
  );
}

function Target({ transaction, created }: { transaction: Transaction; created: string | null }) {
  const address = transaction.to ?? created;
  return address ? <Address address={address} /> : <span class="dim">none</span>;
}

function What({ transaction, run }: { transaction: Transaction; run: Run | null }) {
  const request = run?.request ?? decodeAsk(transaction.input);
  if (request !== null) return <ShortText text={request} />;
  if (run) return <span class="dim">an agent ran</span>;
  if (!transaction.to) return <span class="dim">creates a contract</span>;
  if (transaction.input.length <= 2) return <span class="dim">transfer</span>;
  return <span class="mono dim">{transaction.input.slice(0, 10)}</span>;
}

export function Status({ isSuccess }: { isSuccess: boolean }) {
  return <span class={isSuccess ? 'status ok' : 'status bad'}>{isSuccess ? 'succeeded' : 'reverted'}</span>;
}
