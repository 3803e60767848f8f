/** What a transaction did: transfers, approvals, balances, storage, and how that differs from its request. */

import { formatCount, formatInteger, formatSigned, formatUnits, formatWei, shorten, toBigInt } from '../format';
import { explainRevert } from '../reasons';
import type { Approval, Calls, Change, Numeric, RequestDifference, Transfer } from '../types';
import { useFirst } from './more';
import { Address, TextWithNames } from './text';

export interface Outcome {
  isSuccess: boolean;
  reason: string | null;
}

/** A longer list of slots that changed is closed at first. */
const OPEN_SLOTS = 10;

interface EffectsProps {
  calls: Calls | null;
  outcome: Outcome;
  /** The transaction's fee, which is left out of the balances; null of a simulation. */
  fee: Fee | null;
}

export interface Fee {
  sender: string;
  recipient: string;
  wei: bigint;
  /** What the recipient gets of it. */
  tip: bigint;
}

/** Return the changes without those that are the fee's alone. */
function removeFee(changes: Change[], fee: Fee | null): Change[] {
  if (!fee) return changes;
  const paid = new Map<string, bigint>();
  const pay = (address: string, wei: bigint) =>
    paid.set(address.toLowerCase(), (paid.get(address.toLowerCase()) ?? 0n) + wei);
  pay(fee.sender, -fee.wei);
  pay(fee.recipient, fee.tip);
  return changes.map((change) => {
    const own = paid.get(change.address.toLowerCase());
    if (own === undefined || !change.balance) return change;
    const after = toBigInt(change.balance.after);
    const before = toBigInt(change.balance.before) + own;
    return { ...change, balance: before === after ? null : { before: String(before), after: String(after) } };
  });
}

export function Effects({ calls, outcome, fee }: EffectsProps) {
  if (!outcome.isSuccess) {
    const cause = outcome.reason ? explainRevert(outcome.reason) : null;
    return (
      <p class="verdict failed">
        Reverted: nothing was done
        {cause === null ? (
          '. The contract gave no reason.'
        ) : (
          <>
            , because <TextWithNames text={cause} />
          </>
        )}
        {outcome.reason && cause !== null && cause !== outcome.reason && (
          <small>
            <TextWithNames text={outcome.reason} />
          </small>
        )}
      </p>
    );
  }
  if (!calls) return <p class="dim">The node can’t trace the calls of this transaction.</p>;
  const changes = removeFee(calls.changes, fee).filter((change) => hasChange(change));
  const differences = <Differences list={calls.differences ?? null} />;
  if (calls.transfers.length === 0 && changes.length === 0) {
    return (
      <>
        {differences}
        <p class="verdict">Nothing changed.</p>
      </>
    );
  }
  const isStorageAlone =
    calls.transfers.length === 0 && changes.every((change) => change.storage.length > 0 && !hasValue(change));
  return (
    <>
      {differences}
      {isStorageAlone && <p class="verdict">No ether and no tokens moved.</p>}
      <Transfers list={calls.transfers} />
      <Approvals list={calls.approvals ?? []} />
      <Balances changes={changes} />
      <Created changes={changes} />
      <Storage changes={changes} isOpen={isStorageAlone && countSlots(changes) <= OPEN_SLOTS} />
    </>
  );
}

function countSlots(changes: Change[]): number {
  return changes.reduce((sum, change) => sum + change.storage.length, 0);
}

function hasValue(change: Change): boolean {
  return change.balance !== null || change.code !== null || change.tokens.length > 0;
}

function hasChange(change: Change): boolean {
  return hasValue(change) || change.storage.length > 0;
}

/** A token's symbol is its contract's word: its address stands beside it. */
function Token({ token, symbol }: { token: string | null; symbol: string | null }) {
  if (token === null) return <>{symbol ?? 'ETH'}</>;
  return <Address address={token} name={symbol} />;
}

function amountOf(transfer: Transfer): string {
  if (transfer.id !== null) return `${formatUnits(transfer.amount, 0)} × #${transfer.id}`;
  return transfer.token === null ? formatEther(transfer.amount) : formatUnits(transfer.amount, transfer.decimals ?? 0);
}

/** Return wei as ether without its unit, which has a column; small amounts with theirs. */
function formatEther(wei: Numeric | bigint): string {
  return formatWei(wei).replace(/ ETH$/, '');
}

function Transfers({ list }: { list: Transfer[] }) {
  const [shown, more] = useFirst(list, 'transfers');
  if (list.length === 0) return null;
  return (
    <>
      <table class="rows effects">
        <caption>Transfers</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">Token</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((transfer, index) => (
            <tr key={index}>
              <td class="number mono strong">{amountOf(transfer)}</td>
              <td>
                <Token token={transfer.token} symbol={transfer.symbol} />
              </td>
              <td>
                <Address address={transfer.from} />
              </td>
              <td>
                <Address address={transfer.to} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** From so much on, an allowance is called any amount: wallets approve 2^256 - 1. */
const UNLIMITED = 2n ** 255n;

function allowanceOf(approval: Approval): string {
  if (approval.id !== null) return `#${approval.id}`;
  if (approval.amount === null) return 'all items';
  const amount = toBigInt(approval.amount);
  return amount >= UNLIMITED ? 'any amount' : formatUnits(amount, approval.decimals ?? 0);
}

function Approvals({ list }: { list: Approval[] }) {
  const [shown, more] = useFirst(list, 'approvals');
  if (list.length === 0) return null;
  return (
    <>
      <table class="rows effects">
        <caption>Approvals that stay</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col">Token</th>
            <th scope="col">Of</th>
            <th scope="col">May be taken by</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((approval, index) => (
            <tr key={index}>
              <td class="number mono strong">{allowanceOf(approval)}</td>
              <td>
                <Token token={approval.token} symbol={approval.symbol} />
              </td>
              <td>
                <Address address={approval.owner} />
              </td>
              <td>
                <Address address={approval.spender} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** Where amounts and accounts are not those of the request; null if they are not compared. */
function Differences({ list }: { list: RequestDifference[] | null }) {
  if (list === null) return null;
  if (list.length === 0) return <p class="hint agrees">Amounts and accounts are those of the request.</p>;
  return (
    <div class="differences">
      <strong>Differs from the request</strong>
      <ul>
        {list.map(({ text }, index) => (
          <li key={index}>
            <TextWithNames text={text} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Balances({ changes }: { changes: Change[] }) {
  const rows = changes.flatMap((change) => [
    ...(change.balance ? [{ change, token: null, symbol: 'ETH', decimals: 18, ...change.balance }] : []),
    ...change.tokens.map((token) => ({ change, ...token })),
  ]);
  if (rows.length === 0) return null;
  return (
    <table class="rows effects">
      <caption>Balances</caption>
      <thead>
        <tr>
          <th scope="col">Account</th>
          <th scope="col">Token</th>
          <th scope="col" class="number">
            Change
          </th>
          <th scope="col" class="number">
            Now
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => {
          const difference = toBigInt(row.after) - toBigInt(row.before);
          const decimals = row.decimals ?? 0;
          return (
            <tr key={index}>
              <td>
                <Address address={row.change.address} name={row.change.name} />
              </td>
              <td>
                <Token token={row.token} symbol={row.symbol} />
              </td>
              <td class={difference < 0n ? 'number mono less' : 'number mono more'}>
                {row.token === null ? signEther(difference) : formatSigned(difference, decimals)}
              </td>
              <td class="number mono dim">
                {row.token === null ? formatEther(row.after) : formatUnits(row.after, decimals)}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Created({ changes }: { changes: Change[] }) {
  const rows = changes.filter((change) => change.code !== null);
  if (rows.length === 0) return null;
  return (
    <ul class="created">
      {rows.map((change) => (
        <li key={change.address}>
          <Address address={change.address} name={change.name} />{' '}
          {change.code!.after > 0 ? `has ${formatInteger(change.code!.after)} bytes of code` : 'has no code any more'}
        </li>
      ))}
    </ul>
  );
}

function signEther(value: bigint): string {
  return (value > 0n ? '+' : '') + formatEther(value);
}

function Storage({ changes, isOpen }: { changes: Change[]; isOpen: boolean }) {
  const rows = changes.flatMap((change) => change.storage.map((slot) => ({ ...slot, change })));
  const [shown, more] = useFirst(rows, 'slots');
  if (rows.length === 0) return null;
  const contracts = new Set(rows.map((row) => row.change.address)).size;
  return (
    <details class="storage" open={isOpen}>
      <summary data-stop>
        Storage: {formatCount(rows.length, 'slot')} of {formatCount(contracts, 'contract')} changed
      </summary>
      <div class="scroll">
        <table class="rows effects">
          <caption class="hidden">Storage</caption>
          <thead>
            <tr>
              <th scope="col">Contract</th>
              <th scope="col">Slot</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ change, slot, before, after }) => (
              <tr key={change.address + slot}>
                <td>
                  <Address address={change.address} name={change.name} />
                </td>
                <Word hex={slot} />
                <Word hex={before} />
                <Word hex={after} />
              </tr>
            ))}
          </tbody>
        </table>
        {more}
      </div>
    </details>
  );
}

/** A word of storage: short if it is a small number. */
export function Word({ hex }: { hex: string }) {
  const trimmed = hex.replace(/^0x0*(?=.)/, '0x');
  return (
    <td class="mono" title={hex}>
      {trimmed.length > 18 ? shorten(trimmed) : trimmed}
    </td>
  );
}
