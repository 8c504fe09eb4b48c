import { describe, expect, it } from 'vitest';
import { readFunctionOutput, resultsText } from './resource-list.js';

const read = (text: string | Uint8Array) => readFunctionOutput(Buffer.from(text as string));
const HEAD = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n';
const none = { type: 'resource-list', results: { ok: true, results: [] } };

describe('output that is a ResourceList', () => {
  it.each([
    ['in blocks', `${HEAD}items:\n- kind: ConfigMap\n  data:\n    a: |\n      kind: Secret\n\n      ---\n`],
    ['without resources', `${HEAD}items: []\n`],
    ['with `null` for items', `${HEAD}items:\n`],
    ['with a marker and comments', `# made by a function\n---\n# more\n${HEAD}items: []\n...\n`],
    ['with a byte order mark', `\ufeff${HEAD}items: []\n`],
    ['with line breaks of Windows', `${HEAD}items: []\n`.replaceAll('\n', '\r\n')],
    [
      'with quotes',
      `"apiVersion": "config.kubernetes.io/v1"\n'kind': 'ResourceList' # comment\n"items": []\n`,
    ],
    ['in another order', 'items:\n- kind: Secret\nkind: ResourceList\n'],
    ['with indented items', `${HEAD}items:\n  - kind: Secret\n`],
    ['that is indented', '  kind: ResourceList\n  items: []\n'],
    ['with flow content', `${HEAD}items: [\n  {kind: Secret}\n]\n`],
    ['in flow style', '{kind: ResourceList, items: [{kind: Secret}]}\n'],
    ['in JSON', '{"kind": "ResourceList", "items": []}'],
    ['in JSON after a marker', '---\n{"kind": "ResourceList", "items": []}\n'],
    ['in JSON on the line of a marker', '--- {"kind": "ResourceList", "items": []}\n'],
    // What the limits for catalogs would refuse.
    ['with a large integer', `${HEAD}items:\n- kind: A\n  spec: {max: 9223372036854775807}\n`],
    [
      'with a last quote in a line of its own',
      `${HEAD}items:\n- data:\n    a: 'b\n\n'\n    c: {d: 'e\n\n'}\n`,
    ],
    ['with tags and directives in text', `${HEAD}items:\n- kind: A\n  data: !!binary aGVsbG8=\n`],
    ['with line separators in text', `${HEAD}items:\n- kind: A\n  data: "a\u2028b\u2029c\u0085d"\n`],
    ['with deep nesting', `${HEAD}items:\n- spec: ${'['.repeat(500)}${']'.repeat(500)}\n`],
    [
      'with many keys',
      `${HEAD}items:\n- data:\n${Array.from({ length: 5_000 }, (_, at) => `    k${at}: v\n`).join('')}`,
    ],
  ])('%s', (_, text) => {
    expect(read(text)).toEqual(none);
  });

  it('has results', () => {
    const results = [
      '- message: too many replicas',
      '  severity: warning',
      '  resourceRef: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop}',
      '  field: {path: spec.replicas, currentValue: 9, proposedValue: [1, 2]}',
      '  file: {path: web.yaml, index: 2}',
      '  tags: {team: shop, level: 3}',
      '- message: |',
      '    two',
      '    lines',
      '  severity: unknown',
      '  other: ignored',
    ].join('\n');
    const expected = {
      type: 'resource-list',
      results: {
        ok: true,
        results: [
          {
            message: 'too many replicas',
            severity: 'warning',
            resourceRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: 'shop' },
            field: { path: 'spec.replicas', currentValue: 9, proposedValue: [1, 2] },
            file: { path: 'web.yaml', index: 2 },
            tags: { team: 'shop', level: '3' },
          },
          { message: 'two\nlines\n' },
        ],
      },
    };
    expect(read(`${HEAD}items: []\nresults:\n${results}\n`)).toEqual(expected);
    expect(read(`${HEAD}results:\n${results}\nitems: []\n`)).toEqual(expected);
    // As functions of 2020 wrote them.
    const indented = results.replace(/^/gm, '  ');
    expect(read(`${HEAD}items: []\nresults:\n  name: old\n  items:\n${indented}\n`)).toEqual(expected);
    expect(read('{"kind": "ResourceList", "items": [], "results": [{"message": "m"}]}')).toEqual({
      type: 'resource-list',
      results: { ok: true, results: [{ message: 'm' }] },
    });
  });

  it('has results whose severity is in capitals or fatal, which are not weaker', () => {
    const results =
      'results: [{message: a, severity: ERROR}, {message: b, severity: Warning}, {message: c, severity: Fatal}, {message: d, severity: critical}]';
    expect(read(`${HEAD}items: []\n${results}\n`)).toMatchObject({
      results: {
        ok: true,
        results: ['error', 'warning', 'error', 'error'].map((severity) => ({ severity })),
      },
    });
  });

  it('has results without values that are null and indexes that are text; large integers are rounded', () => {
    const results = `
- {message: a, field: {path: p, currentValue: null, proposedValue: {a: null}}}
- {message: b, file: {path: f.yaml, index: "2"}}
- {message: c, field: {path: p, currentValue: 9007199254740993}}
`;
    expect(read(`${HEAD}items: []\nresults:${results}`)).toEqual({
      type: 'resource-list',
      results: {
        ok: true,
        results: [
          { message: 'a', field: { path: 'p', proposedValue: { a: null } } },
          { message: 'b', file: { path: 'f.yaml' } },
          { message: 'c', field: { path: 'p', currentValue: 9_007_199_254_740_992 } },
        ],
      },
    });
    const output = Buffer.from(`${HEAD}items: []\nresults:${results}`);
    expect(resultsText(output)).toContain('currentValue: 9007199254740993');
  });

  it('has results with values that parsers read differently, as libraries for YAML 1.2 write them', () => {
    const results = `
- {message: y, resourceRef: {kind: ConfigMap, name: off, namespace: n}, tags: {y: yes, 1: a}}
- message: mode
  field: {path: mode, currentValue: 0644, proposedValue: on}
- message: m
  field: {path: data, currentValue: !!binary YWJj}
${'- message: no\n'.repeat(300)}`;
    const expected = {
      results: {
        ok: true,
        results: [
          {
            message: 'y',
            resourceRef: { kind: 'ConfigMap', name: 'off', namespace: 'n' },
            tags: { y: 'yes', 1: 'a' },
          },
          { message: 'mode', field: { path: 'mode', currentValue: 420, proposedValue: 'on' } },
          { message: 'm', field: { path: 'data', currentValue: 'YWJj' } },
          ...Array.from({ length: 300 }, () => ({ message: 'no' })),
        ],
      },
    };
    expect(read(`${HEAD}items: []\nresults:${results}`)).toMatchObject(expected);
    // In flow style, all of the list is read.
    const flow = '{kind: ResourceList, items: [{a: y, b: 12345678901234567890}], results: [{message: n}]}';
    expect(read(flow)).toMatchObject({ results: { ok: true, results: [{ message: 'n' }] } });
  });

  it('has results of functions of 2020: groups, and other names of fields', () => {
    const groups = `results:
- name: kubeval
  items:
  - message: quota
    severity: warn
    tags: {error-type: field}
    resourceRef:
      apiVersion: v1
      metadata: {name: foo, namespace: bar}
    field: {path: spec.cpu, currentValue: "200", suggestedValue: "2"}
- name: empty
  items:
- message: between
- name: other
  items:
  - message: last
    resourceRef: {name: a, metadata: {name: b}}
    field: {proposedValue: 1, suggestedValue: 2}
`;
    expect(read(`${HEAD}items: []\n${groups}`)).toEqual({
      type: 'resource-list',
      results: {
        ok: true,
        results: [
          {
            message: 'quota',
            severity: 'warning',
            tags: { 'error-type': 'field' },
            resourceRef: { apiVersion: 'v1', name: 'foo', namespace: 'bar' },
            field: { path: 'spec.cpu', currentValue: '200', proposedValue: '2' },
          },
          { message: 'between' },
          { message: 'last', resourceRef: { name: 'a' }, field: { proposedValue: 1 } },
        ],
      },
    });
  });

  it.each([
    ['results:\n- message: a # why\n  other: [b]\n', 'in blocks'],
    ['results: [{message: a}]\nother: b\n', 'in flow style'],
    ['', 'nowhere'],
  ])('gives them as they were written: %j', (text) => {
    const written = text.replace('other: b\n', '');
    expect(resultsText(Buffer.from(`${HEAD}${text}items: []\n`))).toBe(written || undefined);
  });

  it('gives those of a list in JSON', () => {
    const list = { kind: 'ResourceList', items: [], results: [{ message: 'a', other: 1 }] };
    expect(JSON.parse(resultsText(Buffer.from(JSON.stringify(list)))!)).toEqual({ results: list.results });
  });

  it.each([
    ['results: [{items: text}]', '`results[0].items` is not a list'],
    ['results: [{items: [1]}]', '`results[0].items[0]` is not a mapping'],
    ['results: text', '`results` is not a list'],
    ['results: [text]', '`results[0]` is not a mapping'],
    ['results: [{]', /^cannot read `results`: /],
  ])('cannot have %j', (text, reason) => {
    expect(read(`${HEAD}items: []\n${text}\n`)).toEqual({
      type: 'resource-list',
      results: { ok: false, reason: typeof reason === 'string' ? reason : expect.stringMatching(reason) },
    });
  });
});

describe('output that is not a ResourceList', () => {
  it('is not text', () => {
    expect(read(new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0xff]))).toEqual({ type: 'not-text' });
  });

  it.each(['', '\n \n', '---\n', '# only a comment\n', '---\n# a comment\n---\n'])('%j is empty', (text) => {
    expect(read(text)).toEqual({ type: 'empty' });
  });

  it.each([
    ['kind: Deployment\nmetadata: {}\n', 'a Deployment'],
    ['kind: Ingress\n', 'an Ingress'],
    ['kind: List\nitems: []\n', 'a List'],
    ['kind: ConfigMap\n---\nkind: Secret\n', '2 YAML documents, the first of them a ConfigMap'],
    [`${HEAD}items: []\n---\n${HEAD}items: []\n`, '2 YAML documents, the first of them a ResourceList'],
    [HEAD, 'a ResourceList without `items`'],
    ['{"kind": "ResourceList"}', 'a ResourceList without `items`'],
    ['{"kind": "Secret"}', 'a Secret'],
    ['{"kind": "Secret"}\n{"kind": "Secret"}\n', /^not valid YAML: /],
    ['[]\n', 'a list'],
    ['- kind: Secret\n', 'a list'],
    ['data: text\n', 'not a Kubernetes resource'],
    ['"text"\n', 'text that contains ""text""'],
    ['Error: it failed\n', 'not a Kubernetes resource'],
    [`I1122 starting\n${HEAD}items: []\n`, 'text that contains "I1122 starting"'],
    [`${HEAD}items: []\ndone\n`, 'text that contains "done"'],
    ['<html>\n', 'text that contains "<html>"'],
    [`${HEAD}items: []\n'text'\n`, `text that contains "'text'"`],
  ])('%j is other', (text, what) => {
    expect(read(text)).toEqual({
      type: 'other',
      what: typeof what === 'string' ? what : expect.stringMatching(what),
    });
  });
});
