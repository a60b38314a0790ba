import { brief } from '../lib/format';
import { Spark } from './basic';
import { Icon } from './icon';

interface TileProps {
  name: string;
  icon: string;
  value?: number;
  show?: (n: number) => string;
  note?: string;
  kind?: '' | 'warn' | 'bad';
  href: string;
  trend?: number[];
}

// Tile is a figure that leads to the list it counts.
export function Tile({ name, icon, value, show = brief, note, kind = '', href, trend }: TileProps) {
  return (
    <a class={`tile ${kind}`} href={href}>
      <span class="name">
        <Icon name={icon} size={16} />
        {name}
      </span>
      {value === undefined ? (
        <span class="skeleton" style={{ inlineSize: '56%', blockSize: '28px', marginBlock: '3px' }} />
      ) : (
        <span class="value">{show(value)}</span>
      )}
      {note ? <span class="sub">{note}</span> : null}
      {trend ? <Spark values={trend} /> : null}
    </a>
  );
}
