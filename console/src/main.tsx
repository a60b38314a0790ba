import './lib/early';
import { render } from 'preact';
import { LocationProvider } from 'preact-iso';
import { App } from './app';
import { languageReady } from './lib/i18n';
import { applyTheme } from './lib/theme';
import './tokens.css';
import './ui.css';

applyTheme();
await languageReady;
render(
  <LocationProvider scope="/console">
    <App />
  </LocationProvider>,
  document.getElementById('app') as HTMLElement,
);
