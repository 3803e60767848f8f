/** The frame of every view: header, search, notices. */

import { useEffect, useState } from 'preact/hooks';

import { formatClock, formatInteger, showInvisible } from './format';
import { Boundary } from './parts/boundary';
import { ShortText, Text } from './parts/text';
import { route, type Route } from './router';
import { announcement, chainId, client, connection, head, models, notice } from './store';
import { applyTheme, nextTheme, theme } from './theme';
import { AddressView } from './views/address';
import { AskView } from './views/ask';
import { BlockView } from './views/block';
import { CassetteView } from './views/cassette';
import { Overview } from './views/overview';
import { search, SearchView } from './views/search';
import { TransactionView } from './views/tx';

export function App() {
  const current = route.value;
  useEffect(() => {
    document.title = [describe(current), showInvisible(client.title), 'pyevm-agents'].filter(Boolean).join(' · ');
  }, [current]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      <Notices />
      <main id="main" tabIndex={-1} class={connection.value.state === 'lost' ? 'old' : ''}>
        <Boundary what="This view" key={`${current.view} ${'argument' in current ? current.argument : ''}`}>
          <View current={current} />
        </Boundary>
      </main>
      <footer class="keys">
        {client.kind !== 'cassette' && (
          <span>
            <kbd>/</kbd> search
          </span>
        )}
        <span>
          <kbd>j</kbd> <kbd>k</kbd> move
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span>
          <kbd>Esc</kbd> leave
        </span>
      </footer>
      <div class="hidden" aria-live="polite" role="status">
        <ShortText text={announcement.value} />
      </div>
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault(); // The fragment is the view.
  document.getElementById('main')?.focus();
}

function describe(current: Route): string {
  return current.view === 'overview' ? 'Overview' : showInvisible(`${current.view} ${current.argument.slice(0, 24)}`);
}

function View({ current }: { current: Route }) {
  if (client.kind === 'cassette') return <CassetteView />;
  switch (current.view) {
    case 'overview':
      return <Overview />;
    case 'block':
      return <BlockView key={current.argument} argument={current.argument} />;
    case 'tx':
      return <TransactionView key={current.argument} argument={current.argument} />;
    case 'address':
      return <AddressView key={current.argument} argument={current.argument} />;
    case 'ask':
      if (client.kind === 'recorded') return <p>This is a recording: no node is there to run an agent.</p>;
      return <AskView key={current.argument} argument={current.argument} />;
    case 'search':
      return <SearchView key={current.argument} argument={current.argument} />;
  }
}

function Header() {
  return (
    <header class="page">
      <a class="home" href="#/">
        pyevm-agents
      </a>
      {client.kind !== 'cassette' && <Search />}
      <dl class="chain">
        {chainId.value && (
          <div>
            <dt>chain</dt>
            <dd class="mono">{chainId.value}</dd>
          </div>
        )}
        {head.value && (
          <div>
            <dt>block</dt>
            <dd class="mono">{formatInteger(head.value.number)}</dd>
          </div>
        )}
        {models.value.length > 0 && (
          <div class="models">
            <dt>{models.value.length === 1 ? 'model' : 'models'}</dt>
            <dd>
              {models.value.map((model) => (
                <span key={model.name} title={model.digest}>
                  <Text text={model.name} />
                  {model.isScripted && <span class="tag">script</span>}
                </span>
              ))}
            </dd>
          </div>
        )}
      </dl>
      <Connection />
      <button
        type="button"
        class="theme"
        aria-label={`Theme: ${theme.value}. Switch to ${nextTheme()}.`}
        title={`Theme: ${theme.value}`}
        onClick={() => applyTheme(nextTheme())}
      >
        {{ system: '◐', light: '○', dark: '●' }[theme.value]}
      </button>
    </header>
  );
}

function Search() {
  const [text, setText] = useState('');
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void search(text);
        setText('');
        document.getElementById('search')?.blur();
      }}
    >
      <label class="hidden" for="search">
        Search
      </label>
      <input
        id="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Block, hash, address, name or text"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}

function Connection() {
  if (client.kind !== 'node') {
    return (
      <span class="connection">
        recorded{client.title && ': '}
        <Text text={client.title} />
      </span>
    );
  }
  const { state } = connection.value;
  const text = { connecting: 'connecting', open: 'live', lost: 'not connected' }[state];
  return (
    <span class={`connection ${state}`}>
      <span class="dot" aria-hidden="true" />
      {text}
    </span>
  );
}

function Notices() {
  const lost = connection.value;
  const changed = notice.value;
  return (
    <div class="notices" role="status">
      {client.note && (
        <p class="notice">
          <Text text={client.note} />
        </p>
      )}
      {lost.state === 'lost' && (
        <p class="notice">
          <b>The connection was lost at {formatClock(lost.since)}.</b> What this page shows is as old as that.{' '}
          <Countdown to={lost.retryAt} />{' '}
          <button type="button" class="quiet" onClick={() => client.reconnect()}>
            Try now
          </button>
        </p>
      )}
      {changed && (
        <p class="notice">
          <b>{changed.text}</b> What this page shows was loaded anew at {formatClock(changed.at)}.{' '}
          <button type="button" class="quiet" onClick={() => (notice.value = null)}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}

function Countdown({ to }: { to: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [to]);
  const seconds = Math.ceil((to - now) / 1_000);
  return <span aria-hidden="true">{seconds > 0 ? `It tries again in ${seconds} s.` : 'It tries again.'}</span>;
}
