import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { percent } from '../lib/format';
import { _ } from '../lib/i18n';
import { Button } from './basic';

const least = 1;
const most = 8;
const clamp = (n: number) => Math.min(most, Math.max(least, n));
const apart = (t: TouchList) =>
  Math.hypot((t[0] as Touch).clientX - (t[1] as Touch).clientX, (t[0] as Touch).clientY - (t[1] as Touch).clientY);

// Zoomed shows a drawing whole, or larger in a frame that scrolls: by buttons, two fingers, Ctrl and the wheel, + and -.
export function Zoomed({ kind, children }: { kind: string; children: ComponentChildren }) {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(least);
  // What stays where it is while the size changes: a share of the drawing, and its place in the frame.
  const held = useRef<{ x: number; y: number; left: number; top: number } | null>(null);
  const to = (next: number, at?: { clientX: number; clientY: number }) => {
    const f = frame.current;
    if (!f) return;
    const box = f.getBoundingClientRect();
    const left = at ? at.clientX - box.left : f.clientWidth / 2;
    const top = at ? at.clientY - box.top : f.clientHeight / 2;
    held.current = { x: (f.scrollLeft + left) / f.scrollWidth, y: (f.scrollTop + top) / f.scrollHeight, left, top };
    setZoom(clamp(next));
  };
  useLayoutEffect(() => {
    const f = frame.current;
    const h = held.current;
    if (f && h) f.scrollTo(h.x * f.scrollWidth - h.left, h.y * f.scrollHeight - h.top);
  }, [zoom]);
  // Listeners of its own: a browser lets only those keep it from zooming the page.
  const by = useRef(to);
  by.current = to;
  const now = useRef(zoom);
  now.current = zoom;
  useEffect(() => {
    const f = frame.current as HTMLDivElement;
    let began: { apart: number; zoom: number } | null = null;
    const start = (e: TouchEvent) => {
      began = e.touches.length === 2 ? { apart: apart(e.touches), zoom: now.current } : null;
    };
    const pinch = (e: TouchEvent) => {
      if (!began || e.touches.length !== 2) return;
      e.preventDefault();
      const [a, b] = [e.touches[0] as Touch, e.touches[1] as Touch];
      by.current(began.zoom * (apart(e.touches) / began.apart), {
        clientX: (a.clientX + b.clientX) / 2,
        clientY: (a.clientY + b.clientY) / 2,
      });
    };
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      by.current(now.current * Math.exp(-e.deltaY / 200), e);
    };
    f.addEventListener('touchstart', start, { passive: true });
    f.addEventListener('touchmove', pinch, { passive: false });
    f.addEventListener('wheel', wheel, { passive: false });
    return () => {
      f.removeEventListener('touchstart', start);
      f.removeEventListener('touchmove', pinch);
      f.removeEventListener('wheel', wheel);
    };
  }, []);
  const press = (e: KeyboardEvent) => {
    const next = { '+': zoom * 1.5, '=': zoom * 1.5, '-': zoom / 1.5, '0': least }[e.key];
    if (!next || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    to(next);
  };
  return (
    <div onKeyDown={press}>
      <div class="row zoom" role="group" aria-label={_('Size of the plan')}>
        <Button class="tap" disabled={zoom <= least} aria-label={_('Smaller')} onClick={() => to(zoom / 1.5)}>
          −
        </Button>
        <output class="small muted" aria-live="polite">
          {percent(100 * zoom, 0)}
        </output>
        <Button class="tap" disabled={zoom >= most} aria-label={_('Larger')} onClick={() => to(zoom * 1.5)}>
          +
        </Button>
        <Button kind="quiet" class="tap" disabled={zoom === least} onClick={() => to(least)}>
          {_('All of it')}
        </Button>
      </div>
      <div ref={frame} class={kind} style={{ '--zoom': zoom }}>
        {children}
      </div>
    </div>
  );
}
