import { _, plural } from '../lib/i18n';

// What a score counts.
export interface Counted {
  incident_count: number;
  near_miss_count: number;
  shift_hours: number;
  period_days: number;
}

// because names what a score stands on.
export function because({ incident_count: incidents, near_miss_count: near, shift_hours: hours, ...of }: Counted) {
  return _('{incidents}, {near} and {hours} in {n} days.', {
    incidents: plural(incidents, '{n} incident', '{n} incidents'),
    near: plural(near, '{n} near miss or hazard', '{n} near misses or hazards'),
    hours: plural(Math.round(hours), '{n} working hour', '{n} working hours'),
    n: of.period_days,
  });
}
