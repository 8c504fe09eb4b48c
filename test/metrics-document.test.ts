import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../apps/registry/src/server/metrics.js';
import { addProcessMetrics } from '../apps/registry/src/server/process-metrics.js';
import { root } from './running.js';

const text = readFileSync(path.join(root, 'docs/operate-monitoring.md'), 'utf8');
const AT = '2030-01-02T03:04:05.678Z';
const metrics = createMetrics({
  countFunctions: async () => 0,
  sources: async () => [
    {
      catalog: 'c',
      source: 's',
      url: 'https://example.com/catalog.yaml',
      nextAt: AT,
      copy: {
        digest: `sha256:${'0'.repeat(64)}`,
        size: 1,
        fetchedAt: AT,
        validators: {},
        entries: 1,
        invalid: [],
        invalidEntries: 0,
        signatures: [],
      },
    },
  ],
  clock: () => new Date(AT),
  process: true,
});
metrics.request('GET', '/', 200, 0.1);
metrics.publish('created');
metrics.build('default', 'snapshot', 0.1);
metrics.logLineDropped();
metrics.catalogFunctions('default', 0);
metrics.signatureExpires('default', 0);
metrics.refresh('c', 's', 'changed');
metrics.countRequest('get', '200');
metrics.countCacheRead('hit');
metrics.countStatements('requests', 1);
metrics.databaseFailed('requests');
metrics.loginFailed();
addProcessMetrics(metrics.register, {
  version: '1.2.3',
  readiness: async () => ({ status: 'ok', checks: [{ name: 'store', status: 'ok' }] }),
  processes: { leads: true, joined: () => 1 },
  searchLag: async () => 0,
  dataFolder: root,
});

it('docs/operate-monitoring.md lists every metric with its labels and help text', async () => {
  const rendered = await metrics.render();
  const rows = [...rendered.matchAll(/^# HELP (krmhub_\w+) (.*)$/gm)].map(([, name, help]) => {
    const sample = new RegExp(`^${name}(?:_count)?(?:\\{(.*)\\})? `, 'm').exec(rendered);
    const labels = [...(sample?.[1] ?? '').matchAll(/(\w+)="/g)].map(([, label]) => `\`${label}\``);
    return `| \`${name}\` | ${labels.join(', ')} | ${help} |`;
  });
  expect(rows.length).toBeGreaterThan(5);
  expect(text.match(/^\| `krmhub_.*$/gm)).toEqual(rows);
});

it('its alerts use existing metrics, labels and routes', async () => {
  const rendered = await metrics.render();
  const rules = parse(readFileSync(path.join(root, 'deploy/helm/files/alerts.yaml'), 'utf8')).groups.flatMap(
    ({ rules }: { rules: { alert: string; expr: string }[] }) => rules,
  );
  expect(rules.length).toBeGreaterThan(3);
  for (const { alert, expr } of rules) {
    expect(alert).toMatch(/^Krmhub[A-Z]/);
    expect(text).toContain(`\`${alert}\``);
    expectExisting(rendered, expr);
  }
});

it('the dashboard uses existing metrics and labels, and its panels do not overlap', async () => {
  const rendered = await metrics.render();
  const { panels } = JSON.parse(readFileSync(path.join(root, 'deploy/grafana/krmhub.json'), 'utf8')) as {
    panels: Panel[];
  };
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(queries.length).toBeGreaterThan(15);
  for (const query of queries) {
    expectExisting(rendered, query);
    // All queries select the job; the time range of a rate has several scrapes.
    expect(query).toContain('job="$job"');
  }
  const used = new Set(queries.flatMap((query) => query.match(/krmhub_[a-z_]+?(?=_bucket|\{)/g) ?? []));
  expect(used.size).toBeGreaterThan(10);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  for (const { type, title, description } of panels) {
    if (type !== 'row') expect([title, description]).toEqual([title, expect.stringMatching(/\.$/)]);
  }
});

interface Panel {
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

/** Each metric of a query is one of the registry, and has the labels that the query uses. */
function expectExisting(rendered: string, query: string): void {
  const names = [...query.matchAll(/\b(?:krmhub|process)_\w+/g)].map(([name]) => name);
  for (const name of names) expect(rendered).toMatch(new RegExp(`^${name}[{ ]`, 'm'));
  for (const [, label] of query.matchAll(/[{,](\w+)[!=]/g)) {
    if (label !== 'job' && label !== 'instance') expect(rendered).toContain(`${label}="`);
  }
  for (const [, labels] of query.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of labels!.split(', ')) {
      // Prometheus adds these two.
      if (label !== 'instance' && label !== 'job') expect(rendered).toContain(`${label}="`);
    }
  }
}
