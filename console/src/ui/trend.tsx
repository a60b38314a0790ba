import { Icon } from './icon';
import '../overview.css';

const width = 120;
const height = 40;
const margin = 4;

// Trend draws how a figure went, for the eye alone: a table beside it says the same. Where nothing is known it has a gap.
function Trend({ values }: { values: (number | null)[] }) {
  const known = values.filter((v) => v !== null);
  if (!known.length || values.length < 2) return null;
  const most = Math.max(...known) || 1;
  const x = (i: number) => ((i * width) / (values.length - 1)).toFixed(1);
  const y = (v: number) => (height - margin - (v / most) * (height - 2 * margin)).toFixed(1);
  const runs: number[][] = [[]];
  values.forEach((v, i) => (v === null ? runs.push([]) : runs.at(-1)?.push(i)));
  const points = (run: number[]) => run.map((i) => `${x(i)},${y(values[i] as number)}`).join(' ');
  const last = values.findLastIndex((v) => v !== null);
  return (
    <svg class="trend" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {runs
        .filter((run) => run.length)
        .map((run) => (
          <g key={run[0]}>
            <polygon
              class="area"
              points={`${x(run[0] as number)},${height} ${points(run)} ${x(run.at(-1) as number)},${height}`}
            />
            <polyline class="line" points={points(run)} />
            {run.length === 1 ? <path class="end" d={`M${points(run)}h0`} /> : null}
          </g>
        ))}
      <path class="end" d={`M${x(last)},${y(values[last] as number)}h0`} />
    </svg>
  );
}

interface TrendTileProps {
  name: string;
  icon: string;
  // Of nothing there is no figure: value is null, and note says so.
  value: string | null;
  note: string;
  kind?: '' | 'warn' | 'bad';
  href?: string;
  trend: (number | null)[];
  from: string;
  to: string;
}

// TrendTile is a figure of several months with how it went, and leads to the records that it counts.
export function TrendTile({ name, icon, value, note, kind = '', href, trend, from, to }: TrendTileProps) {
  const inner = (
    <>
      <span class="name">
        <Icon name={icon} size={16} />
        {name}
      </span>
      <span class="value">{value ?? '–'}</span>
      <span class="sub">{note}</span>
      <Trend values={trend} />
      <span class="ends" aria-hidden="true">
        <span>{from}</span>
        <span>{to}</span>
      </span>
    </>
  );
  return href ? (
    <a class={`tile ${kind}`} href={href}>
      {inner}
    </a>
  ) : (
    <div class="tile">{inner}</div>
  );
}
