/** Ask an agent; compare the run with that of other texts, without sending. */

import { useEffect, useRef, useState } from 'preact/hooks';

import { encodeAsk, OWNER_SELECTOR, type Entry } from '../abi';
import { useLoaded } from '../data';
import { formatCount, formatInteger, isAddress, toNumber } from '../format';
import { LiveSteps } from '../parts/live';
import { findAnswer, Report } from '../parts/report';
import { Waiting } from '../parts/states';
import { Address, NameText, Text } from '../parts/text';
import { open } from '../router';
import { addNames, client, explainError, head, live, models } from '../store';
import type { Block, Description, Simulation } from '../types';

interface Agent {
  description: Description;
  tools: { address: string; description: Description }[];
  accounts: string[];
  owner: string | null;
  gas: string;
}

const SECOND_MS = 1_000;

const ID_WORDS = 4;

/** Return an id that no other page uses. `crypto.randomUUID` is only there in secure contexts. */
function createRequestId(): string {
  return [...crypto.getRandomValues(new Uint32Array(ID_WORDS))].map((word) => word.toString(16)).join('-');
}

/** The most gas of a transaction from Osaka on. Source: EIP-7825. */
const MAX_TRANSACTION_GAS = 2 ** 24;
const UNCAPPED_FORKS =
  /frontier|homestead|byzantium|constantinople|petersburg|istanbul|berlin|london|paris|shanghai|cancun|prague/i;
/** Return the agent's owner, if it has a function of this name: the others may not instruct it. */
async function readOwner(address: string): Promise<string | null> {
  try {
    const word = await client.request<string>('eth_call', [{ to: address, data: OWNER_SELECTOR }, 'latest']);
    return word.length === 66 ? `0x${word.slice(-40)}` : null;
  } catch {
    return null;
  }
}

async function loadAgent(address: string): Promise<Agent> {
  if (!isAddress(address)) throw new Error(`address ${address}: must be 0x and 40 digits`);
  const [description, accounts, owner, block, info] = await Promise.all([
    client.request<Description>('agent_describe', [address]),
    client.request<string[]>('eth_accounts'),
    readOwner(address),
    client.request<Block>('eth_getBlockByNumber', ['latest', false]),
    client.request<{ hardFork: string }>('anvil_nodeInfo'),
  ]);
  const tools = await Promise.all(
    (description.tools ?? []).map(async ({ address: tool }) => ({
      address: tool,
      description: await client.request<Description>('agent_describe', [tool]),
    })),
  );
  const limit = toNumber(block.gasLimit);
  const gas = UNCAPPED_FORKS.test(info.hardFork) ? limit : Math.min(limit, MAX_TRANSACTION_GAS);
  return { description, tools, accounts, owner, gas: String(gas) };
}

export function AskView({ argument }: { argument: string }) {
  const loaded = useLoaded(`ask ${argument}`, () => loadAgent(argument));
  const { data } = loaded;
  return (
    <>
      <header class="title">
        <h1>
          Ask {isAddress(argument) ? <Address address={argument} copies claims /> : <NameText text={argument} />}
        </h1>
      </header>
      {!data ? (
        <Waiting loaded={loaded} what="the agent" />
      ) : data.description.entry ? (
        <Form key={argument} address={argument} agent={data} entry={data.description.entry} />
      ) : (
        <p>
          There is no agent at this address: it has none of the functions <code>instruct</code>, <code>run</code> and{' '}
          <code>ask</code>.
        </p>
      )}
    </>
  );
}

interface ToolTexts {
  description: string;
  parameters: Record<string, string>;
}

interface Texts {
  basePrompt: string;
  tools: Record<string, ToolTexts>;
}

function readTexts(agent: Agent): Texts {
  return {
    basePrompt: agent.description.basePrompt ?? '',
    tools: Object.fromEntries(
      agent.tools.map(({ address, description }) => [
        address,
        {
          description: description.description ?? '',
          parameters: Object.fromEntries((description.parameters ?? []).map((each) => [each.name, each.description])),
        },
      ]),
    ),
  };
}

/** Return the texts that differ, as `agent_traceCall` takes them. */
function listOverrides(address: string, before: Texts, after: Texts): object[] {
  const overrides: object[] = [];
  if (before.basePrompt !== after.basePrompt) overrides.push({ address, basePrompt: after.basePrompt });
  for (const [tool, texts] of Object.entries(after.tools)) {
    const old = before.tools[tool]!;
    const changed = Object.entries(texts.parameters).filter(([name, text]) => old.parameters[name] !== text);
    if (old.description === texts.description && changed.length === 0) continue;
    overrides.push({
      address: tool,
      ...(old.description === texts.description ? {} : { description: texts.description }),
      ...(changed.length ? { parameters: Object.fromEntries(changed) } : {}),
    });
  }
  return overrides;
}

interface Running {
  state: 'running';
  /** What the events of this run have. */
  requestId: string;
  /** When it began, in milliseconds. */
  since: number;
}

type Outcome = { state: 'waiting' } | Running | { state: 'done'; result: Simulation } | { state: 'failed'; error: unknown };

function Form({ address, agent, entry }: { address: string; agent: Agent; entry: Entry }) {
  const present = readTexts(agent);
  const owner = agent.owner?.toLowerCase();
  const ownerAccount = agent.accounts.find((account) => account.toLowerCase() === owner);
  const [prompt, setPrompt] = useState('');
  const [sender, setSender] = useState(ownerAccount ?? agent.accounts[0] ?? '');
  const [gas, setGas] = useState(agent.gas);
  const [edited, setEdited] = useState<Texts>(present);
  const [outcomes, setOutcomes] = useState<{ prompt: string; present: Outcome; edited: Outcome | null } | null>(null);
  const [sendError, setSendError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const sides = useRef<HTMLDivElement>(null);
  const controller = useRef<AbortController | null>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const overrides = listOverrides(address, present, edited);

  const build = () => ({
    from: sender,
    to: address,
    data: encodeAsk(entry, prompt),
    gas: `0x${BigInt(gas).toString(16)}`,
  });

  const simulate = async () => {
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    const asked = prompt;
    const transaction = build();
    setOutcomes({
      prompt: asked,
      present: { state: 'waiting' },
      edited: overrides.length ? { state: 'waiting' } : null,
    });
    requestAnimationFrame(() => sides.current?.scrollIntoView({ block: 'start' }));
    const run = async (side: 'present' | 'edited', texts: object[]) => {
      const show = (outcome: Outcome) => setOutcomes((before) => before && { ...before, [side]: outcome });
      let outcome: Outcome;
      const requestId = createRequestId();
      show({ state: 'running', requestId, since: Date.now() });
      try {
        const params = [transaction, null, null, texts, requestId];
        const result = await client.request<Simulation>('agent_traceCall', params, own.signal);
        addNames(result.names);
        outcome = { state: 'done', result };
      } catch (error) {
        if (own.signal.aborted) return;
        outcome = { state: 'failed', error };
      }
      show(outcome);
    };
    // After each other: the node has one model, and so the reader sees which one runs.
    await run('present', []);
    if (overrides.length && !own.signal.aborted) await run('edited', overrides);
  };

  const stop = () => {
    controller.current?.abort();
    setOutcomes(null);
  };

  const send = async () => {
    setSendError(null);
    setSending(true);
    try {
      open('tx', await client.request<string>('eth_sendTransaction', [build()]));
    } catch (error) {
      setSendError(error);
    } finally {
      setSending(false);
    }
  };

  const isRunning = [outcomes?.present, outcomes?.edited].some(
    (outcome) => outcome?.state === 'running' || outcome?.state === 'waiting',
  );
  const tried = outcomes?.prompt === prompt && outcomes.present.state === 'done' ? outcomes.present.result : null;
  const differs = (tried?.differences ?? []).length > 0;
  const isReady = prompt.trim() !== '' && /^\d+$/.test(gas) && sender !== '';
  return (
    <>
      <form
        class="ask"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !isRunning) void simulate();
        }}
      >
        <label class="wide">
          <span>Instruction</span>
          <textarea rows={2} value={prompt} onInput={(event) => setPrompt(event.currentTarget.value)} required />
        </label>
        <label>
          <span>Sender</span>
          <select value={sender} onChange={(event) => setSender(event.currentTarget.value)}>
            {agent.accounts.map((account) => (
              <option key={account} value={account}>
                {account}
                {account === ownerAccount ? ' (owner)' : ''}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>Gas limit</span>
          <input class="mono" inputMode="numeric" value={gas} onInput={(event) => setGas(event.currentTarget.value)} />
        </label>
        <div class="actions wide">
          <button type="submit" class="primary" disabled={!isReady || isRunning}>
            {overrides.length ? 'Run both without sending' : 'Run without sending'}
          </button>
          {isRunning && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
          <button type="button" class={differs ? 'warned' : ''} disabled={!isReady || isSending} onClick={send}>
            {isSending ? 'Sending…' : differs ? 'Send all the same' : 'Send'}
          </button>
          {overrides.length > 0 && <span class="hint">Send uses the texts on the chain, not the edited ones.</span>}
        </div>
        <TextFields agent={agent} edited={edited} present={present} onChange={setEdited} changes={overrides.length} />
      </form>
      {sendError !== null && (
        <p class="failed" role="alert">
          Not sent: <Text text={explainError(sendError)} />
        </p>
      )}
      {outcomes && (
        <div ref={sides} class={outcomes.edited ? 'sides' : 'sides alone'}>
          <Side
            id="present"
            title="Present texts"
            place={outcomes.edited ? 'run 1 of 2' : null}
            prompt={outcomes.prompt}
            outcome={outcomes.present}
            other={outcomes.edited}
          />
          {outcomes.edited && (
            <Side
              id="edited"
              title="Edited texts"
              place="run 2 of 2"
              prompt={outcomes.prompt}
              outcome={outcomes.edited}
              other={outcomes.present}
            />
          )}
        </div>
      )}
      <p class="hint">
        At block {head.value ? formatInteger(head.value.number) : '…'}
        {models.value.some((model) => model.isScripted) && '. The model is replaced by a script'}.
      </p>
    </>
  );
}

interface FieldsProps {
  agent: Agent;
  present: Texts;
  edited: Texts;
  changes: number;
  onChange(texts: Texts): void;
}

function TextFields({ agent, present, edited, changes, onChange }: FieldsProps) {
  const setTool = (address: string, texts: ToolTexts) =>
    onChange({ ...edited, tools: { ...edited.tools, [address]: texts } });
  return (
    <details class="wide texts" open>
      <summary data-stop>
        Texts that the model reads{' '}
        {changes > 0 && (
          <span class="tag closest">{changes === 1 ? '1 contract edited' : `${changes} contracts edited`}</span>
        )}
      </summary>
      {changes > 0 && (
        <button type="button" class="quiet" onClick={() => onChange(present)}>
          Restore the present texts
        </button>
      )}
      {agent.description.basePrompt !== null && (
        <Field
          label="Base prompt"
          rows={5}
          text={edited.basePrompt}
          before={present.basePrompt}
          onChange={(basePrompt) => onChange({ ...edited, basePrompt })}
        />
      )}
      <div class="tools">
        {agent.tools.map(({ address, description }) => {
          const texts = edited.tools[address]!;
          const before = present.tools[address]!;
          const name = description.name ?? address;
          return (
            <fieldset key={address}>
              <legend>
                <Address address={address} name={description.name} />
              </legend>
              <Field
                label={`Description of ${name}`}
                rows={1}
                text={texts.description}
                before={before.description}
                onChange={(text) => setTool(address, { ...texts, description: text })}
              />
              {Object.entries(texts.parameters).map(([parameter, text]) => (
                <Field
                  key={parameter}
                  label={`Parameter ${parameter}`}
                  rows={1}
                  text={text}
                  before={before.parameters[parameter] ?? ''}
                  onChange={(value) =>
                    setTool(address, { ...texts, parameters: { ...texts.parameters, [parameter]: value } })
                  }
                />
              ))}
            </fieldset>
          );
        })}
      </div>
    </details>
  );
}

interface FieldProps {
  label: string;
  rows: number;
  text: string;
  before: string;
  onChange(text: string): void;
}

function Field({ label, rows, text, before, onChange }: FieldProps) {
  return (
    <label class={text === before ? 'field' : 'field edited'}>
      <span>
        <Text text={label} />
        {text !== before && <em> edited</em>}
      </span>
      <textarea rows={rows} value={text} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

interface SideProps {
  id: string;
  title: string;
  /** Which of the runs it is. */
  place: string | null;
  prompt: string;
  outcome: Outcome;
  other: Outcome | null;
}

function Side({ id, title, place, prompt, outcome, other }: SideProps) {
  const isDue = outcome.state === 'running' || outcome.state === 'waiting';
  return (
    <section class="side" aria-labelledby={`side-${id}`} aria-busy={isDue}>
      <h2 id={`side-${id}`}>
        {title} {outcome.state === 'done' && <Difference result={outcome.result} other={other} />}
      </h2>
      <div aria-live="polite">
        {outcome.state === 'waiting' && (
          <p class="dim">{place ? `Not begun: ${place} waits for the other.` : 'Not begun.'}</p>
        )}
        {outcome.state === 'running' && (
          <p class="progress">
            <span class="pulse" aria-hidden="true" />
            The model runs{place && `, ${place}`}
          </p>
        )}
        {outcome.state === 'failed' && (
          <p class="failed">
            <Text text={explainError(outcome.error)} />
          </p>
        )}
      </div>
      {outcome.state === 'running' && <Progress requestId={outcome.requestId} />}
      {outcome.state === 'running' && <Elapsed since={outcome.since} />}
      {outcome.state === 'done' && (
        <Report id={id} request={prompt} trace={outcome.result} calls={outcome.result} level={3} />
      )}
    </section>
  );
}

/** The steps of a run, and the text as the model writes it. */
function Progress({ requestId }: { requestId: string }) {
  const run = live.value.find((each) => each.requestId === requestId);
  return run ? <LiveSteps run={run} /> : null;
}

/** The time since a run began. */
function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / SECOND_MS));
  return <p class="hint elapsed">For {formatCount(seconds, 'second')}. A model can take a minute on a slow machine.</p>;
}

function Difference({ result, other }: { result: Simulation; other: Outcome | null }) {
  if (other?.state !== 'done') return null;
  const isSame =
    findAnswer(result) === findAnswer(other.result) &&
    JSON.stringify(result.transfers) === JSON.stringify(other.result.transfers) &&
    result.isSuccess === other.result.isSuccess;
  return <span class={isSame ? 'tag' : 'tag closest'}>{isSame ? 'same outcome' : 'another outcome'}</span>;
}
