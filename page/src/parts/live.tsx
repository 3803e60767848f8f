/** A run that goes on: each step, and the text as the model writes it. */

import { decodeAsk } from '../abi';
import { useLoaded } from '../data';
import { formatInteger, showInvisible } from '../format';
import type { Transaction } from '../types';
import { client, findName, type LiveRun, type LiveStep } from '../store';
import { Address, Text, TextWithNames, TxHash } from './text';

const STATES: Record<LiveStep['state'], string> = {
  reading: 'reads',
  writing: 'writes',
  decided: 'uses the tool',
  returned: '',
  failed: 'failed',
};

export function LiveSteps({ run }: { run: LiveRun }) {
  return (
    <ol class="tree live">
      {run.steps.map((step) => (
        <li key={step.number} class="step" style={{ marginLeft: `${step.depth * 20}px` }}>
          <div class="line">
            <span class="what">
              <span class="tag number">{step.number}</span>
              {step.depth > 0 && <Address address={step.agent} claims />}
              {step.thought !== null ? (
                <span class="thought">
                  <Text text={step.thought} />
                </span>
              ) : (
                <Writing step={step} />
              )}
            </span>
            <span class="dim">
              {STATES[step.state]}
              {step.state === 'reading' &&
                step.total > 0 &&
                ` ${formatInteger(step.done)} of ${formatInteger(step.total)} tokens`}
            </span>
          </div>
          {step.action !== null && (
            <p class="action">
              <span class="label">tool</span> <TextWithNames text={`${step.action} ${step.input ?? ''}`} />
            </p>
          )}
          {step.observation !== null && (
            <p class="observation">
              <span class="label">observed</span> <TextWithNames text={step.observation} block />
            </p>
          )}
          {step.reason !== null && (
            <p class="end failed">
              <span class="label">failed</span> <TextWithNames text={step.reason} />
            </p>
          )}
          {step.answer !== null && (
            <p class="answer">
              <span class="label">answered</span> <TextWithNames text={step.answer} block />
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

function Writing({ step }: { step: LiveStep }) {
  return (
    <span class="writing">
      <Text text={step.text.trim()} block />
      <span class="caret" aria-hidden="true" />
    </span>
  );
}

/** A run of the overview that goes on now. */
export function LiveCard({ run }: { run: LiveRun }) {
  const name = findName(run.agent);
  const { hash } = run;
  const { data } = useLoaded(`live ${hash}`, async () =>
    hash ? client.request<Transaction | null>('eth_getTransactionByHash', [hash]) : null,
  );
  const request = data && decodeAsk(data.input);
  return (
    <article class="live-run" aria-label={showInvisible(`Run of ${name ?? run.agent}`)}>
      <div class="line">
        <span class="what">
          <span class="pulse" aria-hidden="true" />
          <Address address={run.agent} claims />
          <span class="dim">{run.source === 'block' ? 'transaction' : run.source}</span>
          {run.hash && <TxHash hash={run.hash} />}
        </span>
      </div>
      {request !== null && (
        <p class="asked">
          <TextWithNames text={request} block />
        </p>
      )}
      <LiveSteps run={run} />
    </article>
  );
}
