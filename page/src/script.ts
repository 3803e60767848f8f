/** A run's steps as the script of `agent_setScript`. */

import type { Json, Step } from './types';

type ScriptStep = { tool: string; arguments: Json; thought?: string } | { answer: string; thought?: string };

export function flattenSteps(steps: Step[]): Step[] {
  return steps.flatMap((step) => [step, ...flattenSteps(step.steps)]).sort((a, b) => a.number - b.number);
}

/** Parse JSON with the integers that a double can't hold as text; the node takes both. */
export function parseExactly(text: string): Json {
  // Outside of strings alone: the strings come first in the pattern and stay as they are.
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?![\d.eE])/g, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
  return JSON.parse(exact) as Json;
}

export function buildScript(steps: Step[]): ScriptStep[] {
  return flattenSteps(steps).flatMap((step): ScriptStep[] => {
    const thought = step.thought === null ? {} : { thought: step.thought };
    if (step.answer !== null) return [{ answer: step.answer, ...thought }];
    if (step.action === null) return [];
    let input: Json = {};
    try {
      input = parseExactly(step.input ?? '{}');
    } catch {
      // The step failed while its input was written.
    }
    return [{ tool: step.action, arguments: input, ...thought }];
  });
}
