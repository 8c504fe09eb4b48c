import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type Diagnostic, LINT_RULES } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import { Ajv } from 'ajv';
import { beforeEach, describe, expect, it } from 'vitest';
import { runTest, type TestIoOptions, temporaryFolder, testIo } from '../../testing/command-line.js';
import { annotation } from './github.js';
import type { FileReport } from './lint-source.js';
import { reportWriter } from './report-writer.js';

const require = createRequire(import.meta.url);

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

const lint = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(['lint', ...args], { cwd: folder, ...options });
async function put(name: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
  await writeFile(path.join(folder, name), text);
}

const definition = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names: {kind: SetOwner}
  description: Set the owner.
  publisher: example.com
  versions:
    - name: v1
      idempotent: true
      license: Apache-2.0
      usage: https://example.com/v1.0.0/README.md
      examples: [https://example.com/v1.0.0/example.yaml]
      runtime: {container: {image: "registry.example.com/fn:latest"}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            owner: {description: "Who 💡 owns it.", type: bool}
            other: {type: string}
`;

interface Result {
  ruleId: string;
  ruleIndex: number;
  level: string;
  message: { text: string };
  locations: {
    physicalLocation: {
      artifactLocation: { uri: string; uriBaseId?: string };
      region?: Record<string, number>;
    };
  }[];
  partialFingerprints: Record<string, string>;
}
interface Run {
  columnKind: string;
  tool: { driver: { rules: { id: string; helpUri?: string; defaultConfiguration: { level: string } }[] } };
  originalUriBaseIds: Record<string, unknown>;
  results: Result[];
}

/** Compiled once: it is large. */
let validator: ReturnType<typeof compileSarifSchema> | undefined;

/** The schema of SARIF 2.1.0, which a library of its authors carries; it is of draft 4, where `id` names it. */
async function compileSarifSchema() {
  const entry = require.resolve('@microsoft/jest-sarif');
  const file = path.join(path.dirname(entry), 'schemas/sarif-2.1.0-rtm.5.json');
  const { $schema, id, ...schema } = JSON.parse(await readFile(file, 'utf8'));
  expect($schema).toContain('draft-04');
  expect(id).toContain('sarif-2.1.0');
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    unicodeRegExp: false,
    formats: {
      uri: (text) => parseUrl(text) !== undefined,
      'uri-reference': (text) => /^[^\s<>"{}|\\^`]*$/.test(text),
      'date-time': (text) => !Number.isNaN(Date.parse(text)),
    },
  });
  return ajv.compile(schema);
}

async function sarif(
  args: readonly string[],
  options: TestIoOptions = {},
): Promise<{ log: object; run: Run }> {
  const io = await lint([...args, '--output', 'sarif'], options);
  const log = JSON.parse(io.out()) as { version: string; runs: Run[] };
  validator ??= compileSarifSchema();
  const validate = await validator;
  expect(validate(log) ? [] : validate.errors).toEqual([]);
  expect(log.version).toBe('2.1.0');
  return { log, run: log.runs[0]! };
}

describe('SARIF', () => {
  it('is valid under its schema, with rules, levels, regions, and relative paths', async () => {
    await put('functions/a b#1.yaml', definition);
    await put('functions/good.yaml', 'apiVersion: v1\nkind: ConfigMap\n');
    const { run } = await sarif(['functions']);
    expect(run.columnKind).toBe('utf16CodeUnits');
    const found = run.results.map(({ ruleId, level, locations }) => ({
      ruleId,
      level,
      ...locations[0]!.physicalLocation,
    }));
    const artifactLocation = { uri: 'functions/a%20b%231.yaml', uriBaseId: '%SRCROOT%' };
    const line = 19;
    // A light bulb is two UTF-16 code units.
    const startColumn = definition.split('\n')[line - 1]!.indexOf('bool') + 1;
    expect(found).toContainEqual({
      ruleId: 'schema/unknown-type',
      level: 'error',
      artifactLocation,
      region: { startLine: line, startColumn, endLine: line, endColumn: startColumn + 4 },
    });
    expect(found.map(({ ruleId, level }) => `${level} ${ruleId}`).sort()).toEqual([
      'error schema/unknown-type',
      'note schema/undescribed',
      'warning image/floating-tag',
    ]);
    for (const result of run.results) {
      const rule = run.tool.driver.rules[result.ruleIndex]!;
      expect(rule.id).toBe(result.ruleId);
      expect(rule).toMatchObject({
        shortDescription: { text: expect.any(String) },
        help: { text: expect.any(String) },
      });
      expect('helpUri' in rule).toBe(false);
    }
    expect(run.originalUriBaseIds).toHaveProperty(['%SRCROOT%']);
    expect(JSON.stringify(run)).not.toContain(folder);
  });

  it('links rules only to the given URL', async () => {
    await put('a.yaml', definition);
    const { run } = await sarif([
      'a.yaml',
      '--rules-url',
      'https://git.example.com/krmhub/docs/lint-rules.md',
    ]);
    expect(run.tool.driver.rules.map(({ helpUri }) => helpUri)).toContain(
      'https://git.example.com/krmhub/docs/lint-rules.md#image',
    );
    const docs = await readFile(new URL('../../../../../docs/lint-rules.md', import.meta.url), 'utf8');
    for (const { id, helpUri } of run.tool.driver.rules) {
      expect(Object.keys(LINT_RULES)).toContain(id);
      expect(docs).toContain(`\n### ${new URL(helpUri!).hash.slice(1)}\n`);
    }
    for (const wrong of ['lint-rules.md', 'javascript:alert(1)', 'ftp://x/y'])
      expect((await lint(['a.yaml', '--rules-url', wrong])).exitCode).toBe(2);
  });

  it('reports the levels of the ruleset', async () => {
    await put('a.yaml', definition);
    const level = async (ruleset: string) =>
      (await sarif(['a.yaml', '--ruleset', ruleset])).run.tool.driver.rules.map(
        ({ id, defaultConfiguration }) => [id, defaultConfiguration.level],
      );
    expect(Object.fromEntries(await level('registry'))).not.toHaveProperty(['license/not-in-kep-enum']);
    expect(Object.fromEntries(await level('kep'))).toHaveProperty(['license/not-in-kep-enum'], 'note');
  });

  it('keeps fingerprints when lines move, and distinguishes equal findings', async () => {
    const twice = definition.replace(
      '            other',
      '            third: {type: bool}\n            other',
    );
    await put('a.yaml', `${twice}---\n${twice}`);
    const prints = async () =>
      (await sarif(['a.yaml'])).run.results.map((one) => one.partialFingerprints['krmhubFinding/v1']);
    const before = await prints();
    expect(before.length).toBeGreaterThan(4);
    expect(new Set(before).size).toBe(before.length);
    await put('a.yaml', `# One more line.\n\n${twice}---\n# And here.\n${twice}`);
    expect(await prints()).toEqual(before);
    await put('b.yaml', `${twice}---\n${twice}`);
    const other = (await sarif(['b.yaml'])).run.results.map(
      (one) => one.partialFingerprints['krmhubFinding/v1'],
    );
    expect(other.filter((print) => before.includes(print))).toEqual([]);
  });

  it('is valid without findings, for stdin, outside files, hostile names, and invalid text', async () => {
    await put(
      'good.yaml',
      definition.replace('bool', 'string').replace(':latest', `@sha256:${'a'.repeat(64)}`),
    );
    const none = await sarif(['good.yaml']);
    expect(none.run.results.map(({ level }) => level)).not.toContain('error');
    const typed = await sarif(['-'], { stdin: definition });
    expect(typed.run.results[0]!.locations[0]!.physicalLocation.artifactLocation.uri).toBe('stdin');
    await mkdir(path.join(folder, 'inner'));
    await put('x:y%\n"<a>.yaml', '{');
    const hostile = await sarif(['../x:y%\n"<a>.yaml', '../x:y%\n"<a>.yaml'], {
      cwd: path.join(folder, 'inner'),
    });
    const { artifactLocation } = hostile.run.results[0]!.locations[0]!.physicalLocation;
    expect(artifactLocation.uri).toMatch(/^file:\/\/\/.*x:y%25%0A%22%3Ca%3E\.yaml$/);
    expect(artifactLocation.uriBaseId).toBeUndefined();
    await put('utf16.yaml', '\ufeff\ufeff\u0000');
    await sarif(['utf16.yaml', 'x:y%\n"<a>.yaml']);
  });
});

/** What GitHub's runner makes of a line of a step's output. */
function workflowCommand(
  line: string,
): { name: string; properties: Record<string, string>; data: string } | undefined {
  const match = /^\s*::([^ :]+)(?: ([\s\S]*?))?::([\s\S]*)$/.exec(line);
  if (match === null) return undefined;
  const read = (text: string, property: boolean) => {
    const plain = text.replace(/%0D/g, '\r').replace(/%0A/g, '\n');
    return (property ? plain.replace(/%3A/g, ':').replace(/%2C/g, ',') : plain).replace(/%25/g, '%');
  };
  const pairs = (match[2] ?? '').split(',').map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at).trim(), read(pair.slice(at + 1), true)] as const;
  });
  return { name: match[1]!, properties: Object.fromEntries(pairs), data: read(match[3]!, false) };
}

describe('GitHub annotations', () => {
  it('contain the path from the repository root, the position, the code, and the fix', async () => {
    await put('repo/functions/a.yaml', definition);
    const io = await lint(['a.yaml', '--output', 'github'], {
      cwd: path.join(folder, 'repo/functions'),
      env: { GITHUB_WORKSPACE: path.join(folder, 'repo') },
    });
    expect(io.exitCode).toBe(1);
    const lines = io.out().trimEnd().split('\n');
    expect(lines.pop()).toBe('1 file: 1 error, 1 warning, 1 note');
    const commands = lines.map(workflowCommand);
    expect(commands.map((command) => command?.name).sort()).toEqual(['error', 'notice', 'warning']);
    const error = commands.find((command) => command?.name === 'error')!;
    const column = definition.split('\n')[18]!.indexOf('bool') + 1;
    expect(error.properties).toEqual({
      file: 'functions/a.yaml',
      line: '19',
      endLine: '19',
      col: String(column),
      endColumn: String(column + 4),
      title: 'schema/unknown-type',
    });
    expect(error.data).toBe(
      'spec.versions[0].schema.openAPIV3Schema.properties.owner.type: unknown type "bool"\nUse `boolean`.',
    );
  });

  it('cannot contain commands from a document or a file name', async () => {
    const name = 'a,line=1::x\n::stop-commands::t\r%0A::add-mask::b.yaml';
    await put(name, definition.replace('type: bool', '"::set-output name=a::b\\n::error::c%0A::d": e'));
    const io = await lint([name, '--output', 'github']);
    const lines = io
      .out()
      .trimEnd()
      .split(/[\r\n]/);
    lines.pop();
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      const command = workflowCommand(line);
      expect(['error', 'warning', 'notice']).toContain(command?.name);
      expect(Object.keys(command!.properties)).toEqual(
        ['file', 'line', 'endLine', 'col', 'endColumn', 'title'].slice(
          0,
          Object.keys(command!.properties).length,
        ),
      );
      // What would act on a terminal is shown, and the rest reads as it is.
      expect(command!.properties.file).toBe(name);
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }
  });

  it('are escaped as GitHub requires', () => {
    const base: Diagnostic = { code: 'a/b', severity: 'info', message: '', file: 'f', path: '' };
    for (const text of [
      '%',
      '100%25',
      '\r\n',
      'a:b,c',
      '::error::x',
      '\u001b[2J',
      '%0A%3A',
      '##[add-mask]a',
      '😀 ü',
    ]) {
      const line = annotation(
        { ...base, message: text, file: `x${text}y`, hint: text },
        { cwd: '/r', root: '/r' },
      );
      expect(line.split(/[\r\n\u0085\u2028\u2029]/)).toHaveLength(1);
      const command = workflowCommand(line)!;
      expect(command.name).toBe('notice');
      if (text.includes('\u001b')) continue;
      expect([command.properties.file, command.data]).toEqual([`x${text}y`, `${text}\n${text}`]);
    }
  });

  it('omit the file for stdin, and missing positions', () => {
    const line = annotation(
      { code: 'lint/more', severity: 'warning', message: 'm', file: '<stdin>', path: '' },
      { cwd: '/r', root: '/r' },
    );
    expect(line).toBe('::warning title=lint/more::m');
  });
});

describe('documents of other tools', () => {
  it('are skipped in folders: documents next to definitions, and chart templates', async () => {
    const good = definition.replace('bool', 'string').replace(':latest', `@sha256:${'a'.repeat(64)}`);
    await put('all/mixed.yaml', `apiVersion: apps/v1\nkind: Deployment\n---\n${good}`);
    await put('all/chart/Chart.yaml', 'apiVersion: v2\nname: web\n');
    await put('all/chart/templates/web.yaml', '{{ if .Values.on }}\nkind: Deployment\n');
    await put('all/templates/definition.yaml', good.replace('SetOwner', 'SetName'));
    const io = await lint(['all']);
    expect(io.out()).toMatch(
      /\n2 files: 2 notes; 1 file and 1 document of other kinds skipped; 1 folder of Helm templates skipped\n$/,
    );
    expect(io.exitCode).toBe(0);
    expect((await lint(['all/mixed.yaml'])).out()).toContain('error[dialect/unknown-document]');
    expect((await lint(['all/chart/templates/web.yaml'])).exitCode).toBe(1);
    // Named by itself as well as by its folder, it is meant.
    expect((await lint(['all', 'all/mixed.yaml'])).out()).toContain('error[dialect/unknown-document]');
    expect((await lint(['all', './all/mixed.yaml'])).out()).toContain('error[dialect/unknown-document]');
  });

  it('are not skipped if they look like a misspelled definition', async () => {
    await put('slips/kind.yaml', definition.replace('KRMFunctionDefinition', 'KRMFunctionDefiniton'));
    await put('slips/group.yaml', definition.replace('config.kubernetes.io', 'config.kubernets.io'));
    await put('slips/none.yaml', definition.replace(/^kind: .*\n/m, ''));
    const io = await lint(['slips']);
    expect(io.exitCode).toBe(1);
    for (const name of ['kind', 'group', 'none']) expect(io.out()).toContain(`slips/${name}.yaml:`);
    expect(io.out().match(/error\[dialect\/misspelled-document\]/g)).toHaveLength(3);
  });

  it('are skipped in file arguments with --skip-others', async () => {
    await put('deployment.yaml', 'apiVersion: apps/v1\nkind: Deployment\nmode: 0644\n');
    await put('values.yaml', 'a: b\n');
    const io = await lint(['deployment.yaml', 'values.yaml', '--skip-others']);
    expect([io.exitCode, io.out()]).toEqual([0, '0 files: no problems; 2 files of other kinds skipped\n']);
    await put('broken.yaml', definition);
    expect((await lint(['deployment.yaml', 'broken.yaml', '--skip-others'])).exitCode).toBe(1);
  });
});

describe('very many findings', () => {
  const report = (count: number): FileReport => ({
    name: 'a.yaml',
    skipped: false,
    skippedDocuments: 0,
    bytes: undefined,
    diagnostics: Array.from({ length: count }, (_, line) => ({
      code: 'tags/form',
      severity: 'warning',
      message: `m${line}`,
      file: 'a.yaml',
      path: 'spec',
    })),
  });
  const written = async (format: 'json' | 'sarif', counts: readonly number[]) => {
    const io = testIo({ cwd: folder });
    const writer = await reportWriter(io, { output: format, ruleset: 'registry' });
    for (const count of counts) await writer.add(report(count));
    const warning = counts.reduce((sum, count) => sum + count, 0);
    const passedOver = { files: 0, documents: 0, templates: 0 };
    await writer.end({ files: counts.length, findings: { error: 0, warning, info: 0 }, skipped: passedOver });
    return JSON.parse(io.out());
  };

  it.each([
    [[19_999, 2], 1],
    [[20_001, 5], 6],
  ])('are held up to 20,000 in one document: of %j, %i are counted only', async (counts, left) => {
    const json = await written('json', counts);
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect([json.warnings, json.diagnostics.length, json.omitted ?? 0]).toEqual([total, total - left, left]);
  });

  it('are counted in a notification of SARIF', async () => {
    const [run] = (await written('sarif', [20_001])).runs;
    expect(run.results).toHaveLength(20_000);
    expect(run.invocations[0].toolExecutionNotifications).toMatchObject([
      { message: { text: '1 more findings are not listed; fix these and run `krmhub lint` again' } },
    ]);
  });
});
