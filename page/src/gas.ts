/** Gas by its four causes: the EVM, and tokens that a model read, read again, and wrote. */

import { models } from './store';
import type { Step, Tokens, Trace } from './types';

export interface Gas {
  evm: number;
  read: number;
  reread: number;
  written: number;
}

export const PARTS = [
  { key: 'evm', label: 'EVM', tokens: null },
  { key: 'read', label: 'read', tokens: 'cold' },
  { key: 'reread', label: 'reread', tokens: 'warm' },
  { key: 'written', label: 'written', tokens: 'output' },
] as const satisfies { key: keyof Gas; label: string; tokens: keyof Tokens | null }[];

export function sumGas(gas: Gas): number {
  return gas.evm + gas.read + gas.reread + gas.written;
}

/** Split a step's gas; its prompt has tokens that the node read before (warm) at their price. */
export function splitStep(step: Step, evm = 0): Gas {
  const model = models.value.find(({ name, aliases }) => name === step.model || aliases.includes(step.model));
  const reread = Math.min(step.tokens.warm * (model?.warmPromptTokenGas ?? 0), step.gas.prompt);
  return { evm, read: step.gas.prompt - reread, reread, written: step.gas.output };
}

export function splitTrace(trace: Trace, steps: Step[]): Gas {
  const reread = steps.reduce((sum, step) => sum + splitStep(step).reread, 0);
  return { evm: trace.gas.evm, read: trace.gas.prompt - reread, reread, written: trace.gas.output };
}
