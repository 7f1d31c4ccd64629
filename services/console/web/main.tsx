import { render } from 'preact';
import { App } from './app';
import { followLinks } from './state/router';
import { applyTheme } from './state/theme';

applyTheme();
followLinks();
render(<App />, document.getElementById('app') as HTMLElement);
