/** A transaction as a tree: agent, thought, tool, its calls and transfers, observation, answer. */

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import { formatCount, formatInteger, formatWei, toBigInt, toNumber } from '../format';
import { splitStep, sumGas } from '../gas';
import { cutCause, findCause } from '../reasons';
import { parseExactly } from '../script';
import type { Argument, Call, CallLog, Json, Step, Trace } from '../types';
import { MAX_SHOWN, useFirst } from './more';
import { GasBar } from './gasbar';
import { Address, BOX_CHARACTERS, NameText, ShortText, Text, TextWithNames } from './text';
import { Arguments, INTEGER, Value } from './values';

interface Context {
  steps: Map<number, Step>;
  closest: number | null;
  /** The calls whose inner calls are shown in their place. */
  opened: Set<Call>;
  /** Show the inside of another call alone. */
  enter(call: Call): void;
  /** The run's gas, which a full bar stands for. */
  full: number;
}

/** Calls inside each other that are shown so. A contract can call itself 1,024 deep: a browser can't lay that out. */
const MAX_LEVELS = 24;

/** Calls that are shown at first; a transaction can have 100,000. */
const MAX_CALLS = 1_500;

/** Return the calls whose inner calls are shown: outer ones first, as many as fit. */
function listOpened(root: Call | null): Set<Call> {
  const opened = new Set<Call>();
  let level = root ? [root] : [];
  let count = level.length;
  for (let depth = 0; depth < MAX_LEVELS && level.length > 0; depth++) {
    const next: Call[] = [];
    for (const call of level) {
      const inner = call.calls.slice(0, MAX_SHOWN);
      if (count + inner.length > MAX_CALLS) continue;
      count += inner.length;
      opened.add(call);
      next.push(...inner);
    }
    level = next;
  }
  return opened;
}

function countCalls(call: Call): number {
  let count = 0;
  for (let level = call.calls; level.length > 0; level = level.flatMap((each) => each.calls)) count += level.length;
  return count;
}

/** Input: the root call, or null where the node can't trace calls; the agents' trace and its steps in order. */
export function RunTree({ root, trace, steps }: { root: Call | null; trace: Trace | null; steps: Step[] }) {
  const [entered, setEntered] = useState<Call[]>([]);
  const shown = entered.at(-1) ?? root;
  const opened = useMemo(() => listOpened(shown), [shown]);
  const top = useRef<HTMLButtonElement>(null);
  useEffect(() => top.current?.focus(), [shown]);
  const context: Context = {
    opened,
    enter: (call) => setEntered([...entered, call]),
    steps: new Map(steps.map((step) => [step.number, step])),
    closest: steps.length > 1 ? (trace?.closest ?? null) : null,
    full: Math.max(1, trace?.gas.used ?? 0),
  };
  if (shown) {
    return (
      <>
        {entered.length > 0 && (
          <p class="entered">
            A part of the run.{' '}
            <button type="button" class="quiet" ref={top} onClick={() => setEntered(entered.slice(0, -1))}>
              Back to the calls around it
            </button>
          </p>
        )}
        <ol class="tree" key={entered.length}>
          <CallItem call={shown} context={context} />
        </ol>
      </>
    );
  }
  return (
    <ol class="tree">
      {(trace?.steps ?? []).map((step) => (
        <NestedSteps key={step.number} step={step} context={context} />
      ))}
    </ol>
  );
}

function NestedSteps({ step, context }: { step: Step; context: Context }) {
  return (
    <StepItem step={step} evm={0} executor={null} context={context}>
      {step.steps.length > 0 && (
        <ol>
          {step.steps.map((inner) => (
            <NestedSteps key={inner.number} step={inner} context={context} />
          ))}
        </ol>
      )}
    </StepItem>
  );
}

type Item = { kind: 'call'; call: Call } | { kind: 'log'; log: CallLog };
type Part = Item | { kind: 'reads'; calls: Call[] } | StepPart;
type StepPart = { kind: 'step'; step: Step; executor: Call; items: Item[] };

/** Return a call's inner calls and events, in the order in which they happened. */
function listItems(call: Call): Item[] {
  const items: Item[] = [];
  let next = 0;
  for (const log of call.logs) {
    while (next < log.position && next < call.calls.length) items.push({ kind: 'call', call: call.calls[next++]! });
    items.push({ kind: 'log', log });
  }
  for (const inner of call.calls.slice(next)) items.push({ kind: 'call', call: inner });
  return items;
}

function hasStep(call: Call, context: Context): boolean {
  return call.step !== null && context.steps.has(call.step);
}

function isRead(call: Call): boolean {
  return call.type.toUpperCase() === 'STATICCALL' && !call.error && !call.calls.some((inner) => !isRead(inner));
}

/** Group calls: those after a step are its tool's, and reads beside each other are one part. */
function groupItems(items: Item[], context: Context): Part[] {
  const parts: Part[] = [];
  let step: StepPart | null = null;
  for (const item of items) {
    const last = parts.at(-1);
    if (item.kind === 'call' && hasStep(item.call, context)) {
      step = { kind: 'step', step: context.steps.get(item.call.step!)!, executor: item.call, items: [] };
      parts.push(step);
      if (step.step.answer !== null) step = null; // What follows is the agent's own.
    } else if (step) step.items.push(item);
    else if (item.kind === 'call' && isRead(item.call)) {
      if (last?.kind === 'reads') last.calls.push(item.call);
      else parts.push({ kind: 'reads', calls: [item.call] });
    } else parts.push(item);
  }
  return parts;
}

function Parts({ items, context }: { items: Item[]; context: Context }) {
  const [parts, more] = useFirst(groupItems(items, context), 'entries');
  if (parts.length === 0) return null;
  return (
    <ol>
      {parts.map((part, index) => {
        if (part.kind === 'log') return <LogItem key={index} log={part.log} />;
        if (part.kind === 'call') return <CallItem key={index} call={part.call} context={context} />;
        if (part.kind === 'reads') return <Reads key={index} calls={part.calls} context={context} />;
        const evm = countEvm(part, context);
        return (
          <StepItem key={index} step={part.step} evm={evm} executor={part.executor} context={context}>
            <Parts items={part.items} context={context} />
          </StepItem>
        );
      })}
      {more && <li>{more}</li>}
    </ol>
  );
}

/** Return a step's gas of the EVM: its executor's and its tool's, without the tokens of steps inside. */
function countEvm(part: StepPart, context: Context): number {
  const own = toNumber(part.executor.gasUsed) - part.step.gas.prompt - part.step.gas.output;
  return Math.max(
    0,
    own + part.items.reduce((sum, item) => sum + (item.kind === 'call' ? countCallEvm(item.call, context) : 0), 0),
  );
}

function countCallEvm(call: Call, context: Context): number {
  return toNumber(call.gasUsed) - sumTokens(call, context);
}

function sumTokens(call: Call, context: Context): number {
  const step = call.step === null ? undefined : context.steps.get(call.step);
  const own = step ? step.gas.prompt + step.gas.output : 0;
  return call.calls.reduce((sum, inner) => sum + sumTokens(inner, context), own);
}

function Reads({ calls, context }: { calls: Call[]; context: Context }) {
  if (calls.length === 1 && calls[0]!.calls.length === 0) return <CallItem call={calls[0]!} context={context} />;
  const listed = calls.slice(0, 3).map((call) => call.function ?? call.contract ?? 'a call');
  return (
    <li class="reads">
      <details>
        <summary data-stop>
          {calls.length} reads <ShortText text={`${listed.join(', ')}${calls.length > 3 ? ', …' : ''}`} />
        </summary>
        <ol>
          {calls.map((call, index) => (
            <CallItem key={index} call={call} context={context} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function CallItem({ call, context }: { call: Call; context: Context }) {
  const isAgent = call.calls.some((inner) => hasStep(inner, context));
  const type = call.type.toUpperCase();
  const classes = [
    'call',
    isAgent ? 'agent' : '',
    type === 'STATICCALL' ? 'read' : '',
    call.isReverted ? 'reverted' : '',
  ];
  return (
    <li class={classes.filter(Boolean).join(' ')}>
      <div class="line" data-stop tabIndex={-1}>
        <span class="what">
          {type !== 'CALL' && <span class="tag">{type.toLowerCase()}</span>}
          {isAgent && <span class="tag agent">agent</span>}
          <CallHead call={call} isAgent={isAgent} />
        </span>
        <span class="number dim" title={`${formatInteger(call.gasUsed)} gas`}>
          {formatInteger(call.gasUsed)}
        </span>
      </div>
      {context.opened.has(call) || call.calls.length === 0 ? (
        <Parts items={listItems(call)} context={context} />
      ) : (
        <p>
          <button type="button" class="quiet" onClick={() => context.enter(call)}>
            Show {formatCount(countCalls(call), 'call')} inside
          </button>
        </p>
      )}
      <CallEnd call={call} isAgent={isAgent} />
    </li>
  );
}

/** Whether a call's arguments are an encoded use of a tool, which its step states in words. */
function isToolUse(call: Call): boolean {
  return call.function === 'run' && call.arguments?.[0]?.name === 'input';
}

function hasInlineResult(call: Call): boolean {
  return !call.error && call.calls.length === 0 && call.logs.length === 0 && (call.result?.length ?? 0) > 0;
}

function nameless(list: Argument[]): Argument[] {
  return list.length === 1 ? [{ ...list[0]!, name: '' }] : list;
}

function CallHead({ call, isAgent }: { call: Call; isAgent: boolean }) {
  const value = toBigInt(call.value);
  const isCreation = call.type.toUpperCase().startsWith('CREATE');
  return (
    <>
      {call.to ? <Address address={call.to} name={call.contract} claims={isAgent} /> : <span class="dim">no address</span>}
      {isCreation ? (
        <span class="dim"> created</span>
      ) : call.function ? (
        <span class="call-head">
          .
          <b>
            <NameText text={call.function} />
          </b>
          ({isToolUse(call) ? <span class="dim">…</span> : <Arguments list={call.arguments ?? []} />})
        </span>
      ) : call.input.length > 2 ? (
        <span class="mono dim"> {call.input.slice(0, 10)}</span>
      ) : null}
      {value > 0n && <span class="transfer"> {formatWei(value)}</span>}
      {hasInlineResult(call) && (
        <span class="result">
          {' → '}
          <Arguments list={nameless(call.result ?? [])} />
        </span>
      )}
    </>
  );
}

function CallEnd({ call, isAgent }: { call: Call; isAgent: boolean }) {
  if (call.error) {
    return (
      <p class="end failed">
        <span class="label">reverted</span> <TextWithNames text={cutCause(call.reason ?? call.error)} />
      </p>
    );
  }
  const result = call.result ?? [];
  if (isAgent || result.length === 0 || hasInlineResult(call) || isToolUse(call)) return null;
  return (
    <p class="end dim">
      <span class="label">returned</span> <Arguments list={result} />
    </p>
  );
}

function LogItem({ log }: { log: CallLog }) {
  return (
    <li class="log">
      <span class="label">event</span>{' '}
      {log.name ? (
        <>
          <NameText text={log.name} />(<Arguments list={log.arguments ?? []} />)
        </>
      ) : (
        <span class="mono">{log.topics[0] ?? 'without a topic'}</span>
      )}
    </li>
  );
}

interface StepItemProps {
  step: Step;
  /** Gas of the EVM in this step. */
  evm: number;
  executor: Call | null;
  context: Context;
  children: ComponentChildren;
}

function StepItem({ step, evm, executor, context, children }: StepItemProps) {
  const isClosest = context.closest === step.number;
  return (
    <li class={isClosest ? 'step closest' : 'step'}>
      <div class="line" data-stop tabIndex={-1}>
        <span class="what">
          <span class="tag number">{step.number}</span>
          {step.thought !== null ? (
            <span class="thought">
              <Text text={step.thought} />
            </span>
          ) : (
            <span class="dim">no output</span>
          )}
        </span>
        <GasBar gas={splitStep(step, evm)} full={context.full} />
        <span class="number dim" title="gas of this step, without the steps inside it">
          {formatInteger(sumGas(splitStep(step, evm)))}
        </span>
      </div>
      {step.action !== null && (
        <p class="action">
          <span class="label">tool</span>{' '}
          {step.tool ? <Address address={step.tool} name={step.action} /> : <NameText text={step.action} />}
          <Input text={step.input} />
        </p>
      )}
      {children}
      {step.observation !== null && (
        <p class="observation">
          <span class="label">observed</span> <TextWithNames text={step.observation} block />
        </p>
      )}
      {step.reason !== null && (
        <p class="end failed">
          <span class="label">failed</span> <TextWithNames text={findCause(step.reason)} />
        </p>
      )}
      {step.answer !== null && (
        <p class="answer">
          <span class="label">answered</span> <TextWithNames text={step.answer} block />
        </p>
      )}
      <Decision step={step} evm={evm} isClosest={isClosest} />
      <details class="prompt">
        <summary data-stop>Prompt{Object.keys(step.handles).length > 0 && ' and handles'}</summary>
        <Handles handles={step.handles} />
        <pre tabIndex={0} aria-label={`Prompt of step ${step.number}`}>
          <Text text={step.prompt} block limit={BOX_CHARACTERS} />
        </pre>
        {executor && executor.calls.length > 0 && (
          <ol>
            <Reads calls={executor.calls} context={context} />
          </ol>
        )}
      </details>
    </li>
  );
}

function Input({ text }: { text: string | null }) {
  if (text === null) return null;
  let form: Json;
  try {
    form = parseExactly(text);
  } catch {
    return <Text text={` ${text}`} />;
  }
  if (form === null || typeof form !== 'object' || Array.isArray(form)) return <Text text={` ${text}`} />;
  const list = Object.entries(form).map(([name, value]): Argument => ({ name, type: guessType(value), value }));
  return (
    <>
      (<Arguments list={list} />)
    </>
  );
}

function guessType(value: Json): string {
  if (typeof value === 'number') return 'int';
  if (typeof value !== 'string') return '';
  if (/^0x[0-9a-f]{40}$/i.test(value)) return 'address';
  return INTEGER.test(value) ? 'int' : 'string';
}

function Decision({ step, evm, isClosest }: { step: Step; evm: number; isClosest: boolean }) {
  const { margin, confidence, tokens } = step;
  return (
    <p class="facts">
      {isClosest && <span class="tag closest">closest decision</span>}
      {margin && (
        <span title="Difference of the log-probabilities of the chosen token and the next best one">
          margin <span class="mono">{margin.gap.toFixed(2)}</span>: “<Text text={margin.chosen} />” before “
          <Text text={margin.other} />”
        </span>
      )}
      {confidence?.surprisal != null && (
        <span title="Mean surprisal of the tokens that the model chose, in nats">
          surprisal <span class="mono">{confidence.surprisal.toFixed(2)}</span>
        </span>
      )}
      {step.isDecided ? (
        <span title="The rules left one step: no model was asked">decided by the rules</span>
      ) : (
        <span>
          read <span class="mono">{formatInteger(tokens.cold)}</span>, reread{' '}
          <span class="mono">{formatInteger(tokens.warm)}</span>, wrote{' '}
          <span class="mono">{formatInteger(tokens.output)}</span>
        </span>
      )}
      {evm > 0 && (
        <span>
          EVM <span class="mono">{formatInteger(evm)}</span>
        </span>
      )}
      {step.seconds !== null && (
        <span>
          <span class="mono">{step.seconds.toFixed(2)}</span> s
        </span>
      )}
      {step.isCached && <span>from the cache</span>}
    </p>
  );
}

function Handles({ handles }: { handles: Record<string, string> }) {
  const entries = Object.entries(handles);
  if (entries.length === 0) return null;
  return (
    <table class="handles">
      <caption class="hidden">Handles in the prompt</caption>
      <thead>
        <tr>
          <th scope="col">handle</th>
          <th scope="col">address</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(([handle, address]) => (
          <tr key={handle}>
            <th scope="row">
              <NameText text={handle} />
            </th>
            <td>
              <Value value={address} type="address" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
