import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { date, number } from '../lib/format';
import { _, language } from '../lib/i18n';
import { useStore } from '../lib/store';
import { theme } from '../lib/theme';
import { homeZone, zones } from '../lib/zone';

export interface Series {
  name: string;
  kind: 'line' | 'bars';
  values: (number | null)[];
}

// colours are the theme's own, read when the plot is drawn.
function colours(): { ink: string; line: string; fill: string; grid: string } {
  const probe = document.createElement('i');
  document.body.append(probe);
  const of = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const out = { ink: of('--muted'), line: of('--accent'), fill: of('--accent-soft'), grid: of('--line') };
  probe.remove();
  return out;
}

// Plot draws figures over time; the same stand in a table below, for those who do not see it.
export function Plot({
  label,
  at,
  series,
  unit,
  height = 200,
}: {
  label: string;
  at: number[];
  series: Series;
  unit?: string;
  height?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const look = useStore(theme);
  useStore(zones);
  const zone = homeZone();
  const lang = useStore(language);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const [night, setNight] = useState(dark.matches);
  useEffect(() => {
    const turn = () => setNight(dark.matches);
    dark.addEventListener('change', turn);
    return () => dark.removeEventListener('change', turn);
  }, []);
  useEffect(() => {
    const el = box.current;
    if (!el) return;
    const c = colours();
    const font = '12px system-ui, sans-serif';
    const axis = { stroke: c.ink, font, grid: { stroke: c.grid, width: 1 }, ticks: { show: false } };
    const days = new Intl.DateTimeFormat(lang === 'en' ? 'en-GB' : lang, {
      day: 'numeric',
      month: 'short',
      timeZone: zone,
    });
    const plot = new uPlot(
      {
        width: el.clientWidth,
        height,
        legend: { show: false },
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), zone),
        cursor: { drag: { x: false, y: false }, points: { size: 7 } },
        scales: { y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.12 : 1] } },
        axes: [
          { ...axis, grid: { show: false }, values: (_u, v) => v.map((x) => days.format(x * 1000)) },
          { ...axis, size: 52, values: (_u, v) => v.map((x) => number(x, 1)) },
        ],
        series: [
          {},
          {
            label: series.name,
            stroke: c.line,
            fill: series.kind === 'bars' ? c.line : c.fill,
            width: 1.6,
            points: { show: false },
            paths:
              series.kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 40] }) : uPlot.paths.stepped?.({ align: 1 }),
          },
        ],
      },
      [at, series.values],
      el,
    );
    const sized = new ResizeObserver(() => plot.setSize({ width: el.clientWidth, height }));
    sized.observe(el);
    return () => {
      sized.disconnect();
      plot.destroy();
    };
  }, [at, series, look, lang, night, height, zone]);
  const last = at.length - 1;
  return (
    <figure class="plot">
      <figcaption class="row">
        <b>{label}</b>
        {unit ? <span class="muted small">{unit}</span> : null}
      </figcaption>
      <div
        ref={box}
        role="img"
        aria-label={_('{what}: {n} on {when}', {
          what: label,
          n: number(series.values[last] ?? 0),
          when: date((at[last] ?? 0) * 1000),
        })}
      />
      <details class="small">
        <summary>{_('As a table')}</summary>
        <div class="table" tabIndex={0} role="region" aria-label={label} style={{ maxBlockSize: '220px' }}>
          <table>
            <thead>
              <tr>
                <th scope="col">{_('Day')}</th>
                <th scope="col" class="num">
                  {series.name}
                </th>
              </tr>
            </thead>
            <tbody>
              {at
                .map((x, i) => [x, series.values[i] ?? 0] as const)
                .reverse()
                .map(([x, v]) => (
                  <tr key={x}>
                    <td>{date(x * 1000)}</td>
                    <td class="num">{number(v)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}
