import { addedBytes, number } from '../figures.js';
import type { Line } from '../row.js';
import type { Costs, ReadKind } from './costs.js';
import { sum, times } from './costs.js';

/** What the month is computed for. Change it, and compute your own. */
export const MONTH = {
  days: 30,
  processes: 3,
  /** Of a day. */
  publishes: 1_000,
  /** Of a day; the first GETs of new catalogs and definitions on each process are added to them. */
  reads: { unchanged: 800_000, entry: 100_000, search: 50_000, again: 50_000 },
  /** Between two readiness probes of a process, as in deploy/postgres-s3. */
  probeSeconds: 2,
} as const;

/** List prices of S3 Standard in large regions, in dollars. They are examples: use those of your store. */
export const PRICES = {
  date: '2026-11',
  thousandPuts: 0.005,
  thousandGets: 0.0004,
  gigabyteMonth: 0.023,
} as const;

/** What a month takes of PostgreSQL and S3, computed from the cost of single operations. */
export function monthLines(costs: Costs): Omit<Line, 'functions'>[] {
  const { days, processes, publishes } = MONTH;
  const seconds = days * 86_400;
  const published = publishes * days;
  const { accepting, building, following, idle, idleLeader, growth } = costs;
  const readCosts = (Object.entries(MONTH.reads) as [ReadKind, number][]).map(([kind, count]) =>
    times(costs.reads[kind], count * days),
  );
  // At most: every process is asked for every new catalog and definition.
  const firsts = (['changed', 'first'] as const).map((kind) =>
    times(costs.reads[kind], published * processes),
  );
  const parts = {
    publishes: sum([
      times(accepting, published),
      times(building, published),
      times(following, published * (processes - 2)),
    ]),
    reads: sum([...readCosts, ...firsts]),
    probes: times(costs.reads.probe, (seconds / MONTH.probeSeconds) * processes),
    'without requests': times(sum([idleLeader, times(idle, processes - 1)]), seconds / 60),
  };
  const total = sum(Object.values(parts));
  const shares = (name: 'statements' | 'puts' | 'gets') =>
    Object.entries(parts)
      .filter(([, part]) => part[name] > 0)
      .map(([what, part]) => `${what} ${number((100 * part[name]) / total[name])} %`)
      .join(', ');
  const line = (what: string, ours: string, beside: string, figures: Record<string, number>) => ({
    row: 'engines',
    what: `a month: ${what}`,
    ours,
    beside,
    figures,
  });
  const dollars = (value: number) => `$${value.toLocaleString('en', { maximumSignificantDigits: 3 })}`;
  const requests = (what: string, name: 'puts' | 'gets', thousand: number) => {
    const price = (total[name] / 1_000) * thousand;
    return line(
      what,
      number(total[name]),
      [`${dollars(price)} at ${dollars(thousand)} for 1,000`, shares(name)]
        .filter((text) => text !== '')
        .join(': '),
      { [`${name}OfMonth`]: total[name], [`${name}DollarsOfMonth`]: price },
    );
  };
  const stored = { s3: growth.objectBytes * published, postgres: growth.databaseBytes * published };
  return [
    requests('S3 PUT, POST, and LIST', 'puts', PRICES.thousandPuts),
    requests('S3 GET and HEAD', 'gets', PRICES.thousandGets),
    line(
      'growth of S3',
      addedBytes(stored.s3),
      `${dollars((stored.s3 / 1e9) * PRICES.gigabyteMonth)} for each later month, at ${dollars(PRICES.gigabyteMonth)} for 1 GB`,
      { objectBytesOfMonth: stored.s3 },
    ),
    line(
      'SQL statements',
      number(total.statements),
      `${number(total.statements / seconds)}/s: ${shares('statements')}`,
      {
        statementsOfMonth: total.statements,
      },
    ),
    line('growth of PostgreSQL', addedBytes(stored.postgres), `${number(growth.rows * published)} rows`, {
      databaseBytesOfMonth: stored.postgres,
      rowsOfMonth: growth.rows * published,
    }),
  ];
}
