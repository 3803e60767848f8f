/** Loading with what a view needs: loads anew when the chain is another, and keeps what it had. */

import { useEffect, useRef, useState } from 'preact/hooks';

import { connection, epoch } from './store';

export interface Loaded<T> {
  data: T | null;
  error: unknown;
  isLoading: boolean;
  /** When `data` came, in milliseconds. */
  at: number;
  reload(): void;
}

/** Load when a key changes, the chain is replaced, or a lost connection is back. */
export function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; data: T | null; error: unknown; isLoading: boolean; at: number }>({
    key,
    data: null,
    error: null,
    isLoading: true,
    at: 0,
  });
  const [count, setCount] = useState(0);
  const number = useRef(0);
  const isOpen = connection.value.state === 'open';
  const chain = epoch.value;
  useEffect(() => {
    if (!isOpen) return;
    const own = ++number.current;
    setState((before) =>
      before.key === key ? { ...before, isLoading: true } : { key, data: null, error: null, isLoading: true, at: 0 },
    );
    load().then(
      (data) => {
        if (own === number.current) setState({ key, data, error: null, isLoading: false, at: Date.now() });
      },
      (error: unknown) => {
        if (own === number.current) setState((before) => ({ ...before, key, error, isLoading: false }));
      },
    );
  }, [key, chain, isOpen, count]);
  const own = state.key === key ? state : { data: null, error: null, isLoading: true, at: 0 };
  return { ...own, reload: () => setCount((value) => value + 1) };
}
