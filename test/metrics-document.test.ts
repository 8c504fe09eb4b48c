import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../apps/registry/src/server/metrics.js';
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
  const rules = [...text.matchAll(/^```yaml\n(groups:[\s\S]*?)^```$/gm)]
    .flatMap(([, yaml]) => parse(yaml!).groups)
    .flatMap(({ rules }) => rules);
  expect(rules.length).toBeGreaterThan(3);
  for (const { alert, expr } of rules) {
    expect(alert).toMatch(/^Krmhub[A-Z]/);
    for (const [name] of expr.matchAll(/krmhub_\w+/g))
      expect(rendered).toMatch(new RegExp(`^${name}[{ ]`, 'm'));
    for (const [, label] of expr.matchAll(/[{,](\w+)[!=]/g))
      if (label !== 'job') expect(rendered).toContain(`${label}="`);
  }
});
