import { kept } from './store';

export type Theme = 'system' | 'light' | 'dark';
export const theme = kept<Theme>('theme', 'system');

export function applyTheme(): void {
  const apply = () => {
    const t = theme.get();
    if (t === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = t;
  };
  apply();
  theme.watch(apply);
}
