/** Gas as a bar of four parts: EVM, read, reread and written tokens. */

import { formatInteger, formatPercent } from '../format';
import { PARTS, sumGas, type Gas } from '../gas';
import type { Tokens } from '../types';

/** Input: gas; the gas that a full bar stands for, else the sum. */
export function GasBar({ gas, full }: { gas: Gas; full?: number }) {
  const total = full ?? sumGas(gas);
  const title = PARTS.map(({ key, label }) => `${label} ${formatInteger(Math.round(gas[key]))}`).join(', ');
  return (
    <span class="gasbar" role="img" aria-label={`gas: ${title}`} title={title}>
      {PARTS.map(({ key }) =>
        gas[key] > 0 ? (
          <span key={key} class={`gas-${key}`} style={{ width: `${(100 * gas[key]) / (total || 1)}%` }} />
        ) : null,
      )}
    </span>
  );
}

export function GasTable({ gas, tokens }: { gas: Gas; tokens: Tokens }) {
  const total = sumGas(gas);
  return (
    <table class="gas">
      <caption class="hidden">Gas by cause</caption>
      <thead>
        <tr>
          <th scope="col">cause</th>
          <th scope="col" class="number">
            gas
          </th>
          <th scope="col" class="number">
            share
          </th>
          <th scope="col" class="number">
            tokens
          </th>
        </tr>
      </thead>
      <tbody>
        {PARTS.map((part) => (
          <tr key={part.key}>
            <th scope="row">
              <span class={`swatch gas-${part.key}`} aria-hidden="true" />
              {part.label}
            </th>
            <td class="number">{formatInteger(Math.round(gas[part.key]))}</td>
            <td class="number dim">{formatPercent(gas[part.key], total)}</td>
            <td class="number">{part.tokens ? formatInteger(tokens[part.tokens]) : ''}</td>
          </tr>
        ))}
        <tr class="total">
          <th scope="row">used</th>
          <td class="number">{formatInteger(total)}</td>
          <td />
          <td />
        </tr>
      </tbody>
    </table>
  );
}
