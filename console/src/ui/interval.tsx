import { number } from '../lib/format';
import { _ } from '../lib/i18n';
import '../overview.css';

interface IntervalProps {
  value: number | null;
  low: number | null;
  high: number | null;
}

// Interval draws how far a rate of few cases may be from the one that is behind it: the bar is its exact 90 % interval,
// from 0 to its upper limit, the mark is the rate. Figures of days have none.
export function Interval({ value, low, high }: IntervalProps) {
  if (value == null || low == null || !high) return null;
  const at = (n: number) => `${((100 * n) / high).toFixed(1)}%`;
  const says = _('between {low} and {high}', { low: number(low), high: number(high) });
  return (
    <span class="interval">
      <span class="scale" aria-hidden="true">
        <i style={{ insetInlineStart: at(low) }} />
        <b style={{ insetInlineStart: at(value) }} />
      </span>
      <small class="muted">{says}</small>
    </span>
  );
}
