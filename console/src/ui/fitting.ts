import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const phone = 620; // below it a row is a card, which shows all columns
const scrollbar = 20; // one that comes and goes with the height of rows changes nothing

// useFitting says how many of a table's columns have room, from the first on: what
// lies beyond an edge is not seen. It counts anew when the room, the columns or the
// rows change. Columns that a person chose are all shown.
export function useFitting<E extends HTMLElement>(columns: string[], rows: unknown, chosen = false) {
  const box = useRef<E>(null);
  const [left, setLeft] = useState(0);
  const [width, setWidth] = useState(0);

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    const observer = new ResizeObserver(() => setWidth((was) => (Math.abs(was - el.clientWidth) > scrollbar ? el.clientWidth : was)));
    observer.observe(el);
    return () => observer.disconnect();
  }, [!rows]);

  useLayoutEffect(() => setLeft(0), [columns.join(), rows, width, chosen]);

  useLayoutEffect(() => {
    const el = box.current;
    if (!el || chosen || innerWidth <= phone || columns.length - left <= 2) return;
    if (el.scrollWidth > el.clientWidth + 1) setLeft(left + 1);
  });

  return { box, shown: left ? columns.slice(0, columns.length - left) : columns, left };
}
