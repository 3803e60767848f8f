/** Search by block number, hash, address, name, or text of a request or an answer. */

import { getRuns } from '../blocks';
import { useLoaded } from '../data';
import { formatInteger, isAddress, isHash, toNumber } from '../format';
import { Waiting } from '../parts/states';
import { Address, BlockNumber, ShortText, Text } from '../parts/text';
import { open } from '../router';
import { client, findClaim, head, listNames, loadClaim } from '../store';
import type { Run } from '../types';
import { describeOutcome } from './overview';

const MAX_RUNS = 1_000;

/** The agents whose own names, and those of their tools, are searched: those of the latest runs. */
const MAX_AGENTS = 50;

async function loadRuns(last: number): Promise<Run[]> {
  const found = await getRuns(0, last, MAX_RUNS);
  const agents = new Set(found.flatMap(({ agent }) => agent ?? []));
  await Promise.all([...agents].slice(0, MAX_AGENTS).map((agent) => loadClaim(agent)));
  return found;
}

/** Go to what a text means; to the search's results where it could be several things. */
export async function search(text: string): Promise<void> {
  const trimmed = text.trim();
  if (!trimmed) return;
  const digits = trimmed.replaceAll(',', '');
  if (/^\d{1,15}$/.test(digits)) return open('block', String(Number(digits)));
  if (isAddress(trimmed)) return open('address', trimmed);
  if (isHash(trimmed)) {
    const block = await client.request('eth_getBlockByHash', [trimmed, false]).catch(() => null);
    return open(block ? 'block' : 'tx', trimmed);
  }
  open('search', trimmed);
}

export function SearchView({ argument }: { argument: string }) {
  const last = head.value?.number;
  const loaded = useLoaded(`search ${last}`, async () => (last === undefined ? [] : loadRuns(last)));
  const wanted = argument.toLowerCase();
  const has = (text: string | null | undefined) => text?.toLowerCase().includes(wanted) ?? false;
  const found = (loaded.data ?? []).filter(
    (run) =>
      has(run.request) ||
      has(run.answer) ||
      has(run.reason) ||
      has(run.agentName) ||
      (run.agent !== null && has(findClaim(run.agent))) ||
      run.transactionHash.startsWith(wanted),
  );
  const addresses = listNames().filter(([address, all]) => all.some(has) || address.startsWith(wanted));
  return (
    <>
      <header class="title">
        <h1>
          Search for “<Text text={argument} />”
        </h1>
      </header>
      {addresses.length > 0 && (
        <section aria-labelledby="found-names">
          <h2 id="found-names">Names</h2>
          <ul class="found">
            {addresses.map(([address]) => (
              <li key={address}>
                <Address address={address} stops claims />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="found-runs">
        <h2 id="found-runs">Agent runs {loaded.data && <span class="dim">{formatInteger(found.length)}</span>}</h2>
        {!loaded.data ? <Waiting loaded={loaded} what="agent runs" /> : <Runs list={found} />}
        {loaded.data?.length === MAX_RUNS && <p class="dim">Among the latest {formatInteger(MAX_RUNS)} runs.</p>}
      </section>
    </>
  );
}

function Runs({ list }: { list: Run[] }) {
  if (list.length === 0) return <p class="dim">No request, answer or reason has this text.</p>;
  return (
    <ul class="found">
      {list.map((run) => (
        <li key={run.transactionHash} class="run">
          <span class="number">
            <BlockNumber number={toNumber(run.blockNumber)} />
          </span>
          <a class="one-line" href={`#/tx/${run.transactionHash}`} data-stop>
            <ShortText text={run.request ?? 'no request'} />
          </a>
          <span class={run.isSuccess ? 'one-line outcome' : 'one-line outcome failed'}>
            <ShortText text={describeOutcome(run)} />
          </span>
        </li>
      ))}
    </ul>
  );
}
