/** What a view says while it loads, where it failed, and where it has nothing. */

import type { ComponentChildren } from 'preact';

import type { Loaded } from '../data';
import { ConnectionError } from '../rpc';
import { connection, explainError } from '../store';
import { Text } from './text';

export function Waiting({ loaded, what }: { loaded: Loaded<unknown>; what: string }) {
  if (loaded.error && !(loaded.error instanceof ConnectionError)) {
    return (
      <p class="failed" role="alert">
        <Text text={`${what}: ${explainError(loaded.error)}`} />
      </p>
    );
  }
  const isLost = connection.value.state === 'lost' || loaded.error;
  return (
    <p class="dim">
      <Text text={isLost ? `${what}: not loaded, the connection is lost.` : `Loading ${what}…`} />
    </p>
  );
}

export function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
