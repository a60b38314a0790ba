import { date, number, percent } from '../lib/format';
import { _, plural } from '../lib/i18n';
import { words, type Permissions } from '../lib/catalog';
import { Note } from './basic';
import {
  actionsHref,
  inspectionsHref,
  monthName,
  monthsOf,
  ratioOf,
  reportsHref,
  shareOf,
  type Overview,
  type Period,
} from './overview';
import { TrendTile } from './trend';

// Months are the figures of the window with how they went, and the same month by month in a table.
export function Months({ o, p }: { o: Overview; p: Permissions }) {
  const w = o.window;
  const first = o.months[0] as Period;
  const ends = { from: monthName(first, o.timezone), to: monthName(o.months.at(-1) as Period, o.timezone) };
  const since = _('since {day}', { day: date(Date.parse(w.from_at)) });
  const critical = w.by_severity['critical'] ?? 0;
  const low = (share: number | null) => (share !== null && share < 90 ? 'warn' : '');
  return (
    <section class="stack tight" aria-label={_('How it went')}>
      <h2>{_('How it went')}</h2>
      <div class="tiles six">
        <TrendTile
          name={words('reports')}
          icon="alert"
          value={number(w.reports)}
          note={
            w.reports
              ? `${monthsOf(o)}, ${since}`
              : _('Nothing was reported, which does not say that nothing happened.')
          }
          href={reportsHref(w)}
          trend={o.months.map((m) => m.reports)}
          {...ends}
        />
        <TrendTile
          name={_('Critical reports')}
          icon="bolt"
          value={number(critical)}
          kind={critical ? 'bad' : ''}
          note={_('of {n}', { n: number(w.reports) })}
          href={reportsHref(w, ['severity', 'eq', 'critical'])}
          trend={o.months.map((m) => m.by_severity['critical'] ?? 0)}
          {...ends}
        />
        <TrendTile
          name={_('Near misses per injury')}
          icon="shield"
          value={ratioOf(w)}
          note={
            w.near_misses_per_injury === null
              ? _('no injury on record, so there is no ratio')
              : `${plural(w.by_category['near_miss'] ?? 0, '{n} near miss', '{n} near misses')} : ${plural(w.by_category['injury'] ?? 0, '{n} injury', '{n} injuries')}`
          }
          href={reportsHref(w, ['kind', 'in', '(near_miss,injury)'])}
          trend={o.months.map((m) => m.near_misses_per_injury)}
          {...ends}
        />
        <TrendTile
          name={_('Actions done in time')}
          icon="check"
          value={w.actions_in_time_share === null ? null : percent(w.actions_in_time_share)}
          kind={low(w.actions_in_time_share)}
          note={w.actions_due ? dueOf(w.actions_in_time, w.actions_due) : _('none was due')}
          href={actionsHref(w)}
          trend={o.months.map((m) => m.actions_in_time_share)}
          {...ends}
        />
        <TrendTile
          name={_('Inspections done in time')}
          icon="list"
          value={w.inspections_in_time_share === null ? null : percent(w.inspections_in_time_share)}
          kind={low(w.inspections_in_time_share)}
          note={w.inspections_due ? dueOf(w.inspections_in_time, w.inspections_due) : _('none was due')}
          href={inspectionsHref(w)}
          trend={o.months.map((m) => m.inspections_in_time_share)}
          {...ends}
        />
        <Recordables o={o} p={p} ends={ends} />
      </div>
      <Withheld o={o} p={p} />
      <details class="fold">
        <summary>{_('Month by month, as a table')}</summary>
        <MonthTable o={o} />
      </details>
    </section>
  );
}

const dueOf = (inTime: number, due: number) => _('{n} of {m} that were due', { n: number(inTime), m: number(due) });

// Recordables is the rate of recordable cases over the months. It leads to the log, where they are counted by year.
function Recordables({ o, p, ends }: { o: Overview; p: Permissions; ends: { from: string; to: string } }) {
  const work = o.window.work;
  if (!work) return null;
  const cases = plural(work.recordable_cases, '{n} recordable case', '{n} recordable cases');
  return (
    <TrendTile
      name={_('TRIR')}
      icon="gauge"
      value={work.trir.value == null ? null : number(work.trir.value)}
      note={
        work.hours_worked == null
          ? _('{cases}; without hours on record of each such month there is no rate', { cases })
          : _('{cases} in {hours} hours', { cases, hours: number(work.hours_worked, 0) })
      }
      href={p.collections['osha_summaries']?.read ? '/console/injuries' : undefined}
      trend={o.months.map((m) => m.work?.trir.value ?? null)}
      {...ends}
    />
  );
}

// Withheld says why there are no hours and cases by month.
function Withheld({ o, p }: { o: Overview; p: Permissions }) {
  if (!o.work_withheld || !p.functions['safety-rates']) return null;
  return (
    <Note>{_('Cases by month are shown where enough people worked in each month: few would be known by them.')}</Note>
  );
}

// MonthTable says in figures what the pictures show, and leads from each to its records.
function MonthTable({ o }: { o: Overview }) {
  const rate = (v: number | null | undefined) => (v == null ? '–' : number(v));
  const hasWork = o.months.some((m) => m.work);
  return (
    <div class="table stacks months" role="region" tabIndex={0} aria-label={_('Month by month')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{_('Month')}</th>
            <th scope="col" class="num">
              {words('reports')}
            </th>
            <th scope="col" class="num">
              {_('Injuries')}
            </th>
            <th scope="col" class="num">
              {words('near_misses')}
            </th>
            <th scope="col" class="num">
              {words('critical')}
            </th>
            <th scope="col">{_('Actions in time')}</th>
            <th scope="col">{_('Inspections in time')}</th>
            {hasWork ? (
              <>
                <th scope="col" class="num">
                  {words('hours')}
                </th>
                <th scope="col" class="num">
                  {words('recordable')}
                </th>
                <th scope="col" class="num">
                  {_('TRIR')}
                </th>
                <th scope="col" class="num">
                  {_('DART')}
                </th>
                <th scope="col" class="num">
                  {_('LTIFR')}
                </th>
              </>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {[...o.months].reverse().map((m) => (
            <tr key={m.from_at}>
              <td>{monthName(m, o.timezone, true)}</td>
              <td class="num" data-label={words('reports')}>
                <a href={reportsHref(m)}>{number(m.reports)}</a>
              </td>
              <td class="num" data-label={_('Injuries')}>
                <a href={reportsHref(m, ['kind', 'eq', 'injury'])}>{number(m.by_category['injury'] ?? 0)}</a>
              </td>
              <td class="num" data-label={words('near_misses')}>
                <a href={reportsHref(m, ['kind', 'eq', 'near_miss'])}>{number(m.by_category['near_miss'] ?? 0)}</a>
              </td>
              <td class="num" data-label={words('critical')}>
                <a href={reportsHref(m, ['severity', 'eq', 'critical'])}>{number(m.by_severity['critical'] ?? 0)}</a>
              </td>
              <td data-label={_('Actions in time')}>
                <a href={actionsHref(m)}>{shareOf(m.actions_in_time_share, m.actions_in_time, m.actions_due)}</a>
              </td>
              <td data-label={_('Inspections in time')}>
                <a href={inspectionsHref(m)}>
                  {shareOf(m.inspections_in_time_share, m.inspections_in_time, m.inspections_due)}
                </a>
              </td>
              {hasWork ? (
                <>
                  <td class="num" data-label={words('hours')}>
                    {rate(m.work?.hours_worked)}
                  </td>
                  <td class="num" data-label={words('recordable')}>
                    {rate(m.work?.recordable_cases)}
                  </td>
                  <td class="num" data-label={_('TRIR')}>
                    {rate(m.work?.trir.value)}
                  </td>
                  <td class="num" data-label={_('DART')}>
                    {rate(m.work?.dart.value)}
                  </td>
                  <td class="num" data-label={_('LTIFR')}>
                    {rate(m.work?.ltifr.value)}
                  </td>
                </>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
