import type { Row } from '../database';
import { number } from '../lib/format';
import { _, plural } from '../lib/i18n';

// What a rule says in words: what it looks at, where its bounds are, what an empty record means.

interface Bound {
  op: string;
  value: number;
}

export interface Rule {
  metric: string;
  window_days?: number;
  evidence?: { of: string; absence: string };
  warn?: Bound;
  breach?: Bound;
}

interface Measure {
  says: () => string; // what is measured
  unit: (n: number) => string; // a value with its unit
  lasting?: boolean; // looks at all that there is, not at a window
}

const hours = (n: number) => plural(n, '{n} hour', '{n} hours');
const days = (n: number) => plural(n, '{n} day', '{n} days');

const measures: Record<string, Measure> = {
  osha_death_notice_hours: { says: () => _('Hours from when a death became known until OSHA knew of it'), unit: hours },
  osha_treatment_notice_hours: {
    says: () =>
      _('Hours from when in-patient treatment, an amputation or the loss of an eye became known until OSHA knew of it'),
    unit: hours,
  },
  log_delay_days: {
    says: () =>
      _('Days from the report of an injury until it was decided whether it goes into the log; the slowest counts'),
    unit: days,
  },
  calendar_deadline: {
    says: () => _('Days since the deadline of the first year whose duty is not met, negative before it'),
    unit: days,
    lasting: true,
  },
  days_since_checklist: { says: () => _('Days since the last completed inspection'), unit: days, lasting: true },
  training_coverage: {
    says: () => _('Share of the courses needed for the work that have a valid certificate'),
    unit: (n) => `${number(n, 1)} %`,
  },
  weekly_hours_max: { says: () => _('Mean working hours in seven days'), unit: hours },
  rest_hours_min: { says: () => _('The shortest rest between two shifts'), unit: hours },
  driving_week_hours: { says: () => _('The most hours at the wheel in a week'), unit: hours },
  driving_day_hours: { says: () => _('The most hours at the wheel in a day'), unit: hours },
  driving_fortnight_hours: { says: () => _('The most hours at the wheel in two weeks'), unit: hours },
  driving_stint_hours: { says: () => _('The most hours at the wheel without a break'), unit: hours },
  driving_rest_hours: { says: () => _('The shortest daily rest of a driver'), unit: hours },
  predictive_score: {
    says: () => _('The newest official risk score'),
    unit: (n) => plural(n, '{n} point', '{n} points'),
    lasting: true,
  },
  overdue_actions: {
    says: () => _('Actions that are not done after their due moment'),
    unit: (n) => plural(n, '{n} action', '{n} actions'),
    lasting: true,
  },
};

export const ruleOf = (regulation: Row): Rule => (regulation['rule'] ?? {}) as Rule;

// measured is a value of a rule with its unit.
export function measured(rule: Rule, n: number): string {
  return measures[rule.metric]?.unit(n) ?? number(n);
}

// looksAt says what a rule measures, over which time.
export function looksAt(rule: Rule): string {
  const says = measures[rule.metric]?.says() ?? rule.metric;
  if (measures[rule.metric]?.lasting || !rule.window_days) return `${says}.`;
  return `${says}, ${plural(rule.window_days, 'over the last day', 'over the last {n} days')}.`;
}

function bounded(rule: Rule, bound: Bound): string {
  const value = measured(rule, bound.value);
  switch (bound.op) {
    case '>':
      return _('above {value}', { value });
    case '>=':
      return _('from {value} up', { value });
    case '<':
      return _('below {value}', { value });
    default:
      return _('up to {value}', { value });
  }
}

// bounds says where a warning and a breach begin.
export function bounds(rule: Rule): string {
  const breach = rule.breach ? _('Breach {bound}.', { bound: bounded(rule, rule.breach) }) : '';
  const warning = rule.warn ? _('Warning {bound}.', { bound: bounded(rule, rule.warn) }) : '';
  return [breach, warning].filter(Boolean).join(' ');
}

// absence says what it means that nothing is on record.
export function absence(rule: Rule): string {
  return rule.evidence?.absence === 'breach'
    ? _('Nothing on record is a breach: the law asks for the act itself.')
    : _('With nothing on record there is no verdict, and nobody counts as compliant.');
}
