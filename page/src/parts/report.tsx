/** A run: asked beside done, what it cost, and its tree. For mined transactions and simulations. */

import type { ComponentChildren } from 'preact';

import { splitTrace } from '../gas';
import { flattenSteps } from '../script';
import type { Calls, Trace } from '../types';
import { Boundary } from './boundary';
import { Effects, type Fee } from './effects';
import { GasBar, GasTable } from './gasbar';
import { TextWithNames } from './text';
import { RunTree } from './tree';

interface ReportProps {
  /** Makes the headings' ids unique. */
  id: string;
  request: string | null;
  trace: Trace;
  calls: Calls | null;
  fee?: Fee | null;
  /** Level of the headings. */
  level?: 2 | 3;
  children?: ComponentChildren;
}

/** Return the answer of a run's outermost agent. */
export function findAnswer(trace: Trace): string | null {
  return trace.steps.findLast((step) => step.answer !== null)?.answer ?? null;
}

export function Report({ id, request, trace, calls, fee = null, level = 2, children }: ReportProps) {
  const steps = flattenSteps(trace.steps);
  const hasAgent = steps.length > 0;
  const isAsked = hasAgent || request !== null;
  const Heading = `h${level}` as const;
  const answer = findAnswer(trace);
  return (
    <>
      <div class={isAsked ? 'versus' : 'versus alone'}>
        {isAsked && (
          <Section heading={`${id}-asked`} level={level} class="panel">
            <Heading id={`${id}-asked`}>Asked</Heading>
            <blockquote class="request">
              {request === null ? <span class="dim">unknown</span> : <TextWithNames text={request} block />}
            </blockquote>
            <Heading class="second">Answered</Heading>
            {answer !== null ? (
              <blockquote class="reply">
                <TextWithNames text={answer} block />
              </blockquote>
            ) : (
              <p class="dim">{hasAgent ? 'No answer.' : 'No answer: no model ran.'}</p>
            )}
            {answer !== null && <p class="hint">An answer is the model’s text, no evidence of what was done.</p>}
          </Section>
        )}
        <Section heading={`${id}-done`} level={level} class="panel">
          <Heading id={`${id}-done`}>Done</Heading>
          <Boundary what="What was done">
            <Effects calls={calls} outcome={trace} fee={fee} />
          </Boundary>
        </Section>
      </div>
      {children}
      {isAsked && (
        <Section heading={`${id}-cost`} level={level}>
          <Heading id={`${id}-cost`}>Cost</Heading>
          <div class="cost">
            <GasBar gas={splitTrace(trace, steps)} />
            <GasTable gas={splitTrace(trace, steps)} tokens={trace.tokens} />
          </div>
        </Section>
      )}
      <Section heading={`${id}-run`} level={level}>
        <Heading id={`${id}-run`}>{hasAgent ? 'Run' : 'Calls'}</Heading>
        <Boundary what="The tree">
          <RunTree root={calls?.call ?? null} trace={trace} steps={steps} />
        </Boundary>
      </Section>
    </>
  );
}

interface SectionProps {
  /** Id of its heading. */
  heading: string;
  level: 2 | 3;
  class?: string;
  children: ComponentChildren;
}

/** A landmark on the second level; below it, two runs side by side have headings alone. */
function Section({ heading, level, children, ...more }: SectionProps) {
  if (level === 3) return <div {...more}>{children}</div>;
  return (
    <section aria-labelledby={heading} {...more}>
      {children}
    </section>
  );
}
