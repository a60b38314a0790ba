import type { Draft } from '../lib/draft';
import { _ } from '../lib/i18n';
import { Note } from './basic';

// Kept says that a form begins with what was typed before, and begins anew where that is not wanted.
export function Kept({ draft }: { draft: Draft }) {
  if (!draft.isFound) return null;
  return (
    <Note>
      {_('What you typed here before was kept.')}{' '}
      <button type="button" class="link" onClick={draft.restart}>
        {_('Begin anew')}
      </button>
    </Note>
  );
}
