import { render } from 'preact';

import { App } from './app';
import { listenToKeys } from './keys';
import { start } from './store';
import { applyTheme, theme } from './theme';

applyTheme(theme.value);
listenToKeys();
start();
render(<App />, document.getElementById('app')!);
