import { useEffect, useState } from 'preact/hooks';
import { claimsOf } from './claims';
import { session } from './client';

// What a person types is kept in this tab until it is sent or dropped: over a way back, a reload, a crash of the
// browser and an ended session. It is kept apart for each person and organisation and for each form.
const kept = 'holdfast.drafts';

type Typed = Record<string, unknown>;
type Drafts = Record<string, Typed>;

function load(): Drafts {
  try {
    return JSON.parse(sessionStorage.getItem(kept) ?? '{}') as Drafts;
  } catch {
    return {};
  }
}

function save(place: string, typed: Typed | undefined): void {
  const drafts = load();
  if (typed) drafts[place] = typed;
  else delete drafts[place];
  try {
    sessionStorage.setItem(kept, JSON.stringify(drafts));
  } catch {
    // A store that is full or forbidden keeps nothing over a reload.
  }
}

// placeOf names a form of this person: the same form of another person, or in another organisation, is another one.
function placeOf(form: string): string {
  const s = session.get();
  const who = s ? claimsOf(s) : undefined;
  return `${who?.sub ?? ''} ${who?.tenant_id ?? ''} ${form}`;
}

// Draft is what was typed into a form.
export interface Draft {
  isFound: boolean; // it was typed before the form was opened
  // field is as useState, but what is initial may change until something is typed.
  field: <V>(name: string, initial: V) => [V, (v: V | ((now: V) => V)) => void];
  restart: () => void; // the form begins anew
  drop: () => void; // it was sent, or is not wanted
}

// useDraft keeps what a person types into a form.
export function useDraft(form: string): Draft {
  const [place] = useState(() => placeOf(form));
  const [found] = useState(() => load()[place]);
  const [typed, setTyped] = useState(found ?? {});
  const [isFound, setFound] = useState(!!found);
  const [isDropped, setDropped] = useState(false);
  useWarning(Object.keys(typed).length > 0 && !isDropped);
  const drop = () => {
    save(place, undefined);
    setDropped(true);
  };
  return {
    isFound,
    drop,
    restart: () => {
      drop();
      setTyped({});
      setFound(false);
    },
    field: <V>(name: string, initial: V) => {
      const put = (v: V | ((now: V) => V)) =>
        setTyped((now) => {
          const before = name in now ? (now[name] as V) : initial;
          const next = { ...now, [name]: v instanceof Function ? v(before) : v };
          save(place, next);
          setDropped(false);
          return next;
        });
      return [name in typed ? (typed[name] as V) : initial, put];
    },
  };
}

// useWarning has the browser ask before it closes a page with a form that was typed into: a closed tab keeps nothing.
function useWarning(isTyped: boolean): void {
  useEffect(() => {
    if (!isTyped) return;
    const warn = (e: Event) => e.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isTyped]);
}
