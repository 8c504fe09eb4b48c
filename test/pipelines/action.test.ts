import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { spawnSync } from '../processes.js';
import { fixtures, krmhub, type RunningRegistry, root, startRegistry, temporaryFolder } from '../running.js';
import { readAction, runAction } from './run-action.js';

/** Runs the steps of action/action.yml as GitHub's runner does, against a new registry. */

const actionFolder = path.join(root, 'action');
const action = readAction(actionFolder);

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let workspace: string;
let count = 0;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
});
afterAll(async () => {
  await registry.stop();
  remove();
});
beforeEach(() => {
  workspace = path.join(folder, `workspace-${++count}`);
  mkdirSync(path.join(workspace, 'functions'), { recursive: true });
});

const fixture = (name: string) => readFileSync(path.join(fixtures, 'functions', name), 'utf8');
const put = (name: string, text: string) => {
  mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
  writeFileSync(path.join(workspace, name), text);
};

const run = (given: Record<string, string>) => runAction(actionFolder, given, { folder, workspace });

async function published(name: string): Promise<string[]> {
  const { code, stdout } = await krmhub(['show', name, '-o', 'json'], { env: registry.env });
  if (code !== 0) return [];
  return (JSON.parse(stdout) as { releases: { release: string }[] }).releases.map(({ release }) => release);
}

const publishing = () => ({ publish: 'true', registry: registry.url, token: registry.token });

describe('the action', () => {
  it('is composite, and passes inputs only in the environment', () => {
    expect(action.runs.using).toBe('composite');
    for (const step of action.runs.steps) {
      expect(step.shell).toBe('bash');
      expect(step.run).not.toContain('${{');
    }
    const used = action.runs.steps.flatMap(({ env = {} }) => Object.values(env).join(' '));
    for (const [name, { description }] of Object.entries(action.inputs)) {
      expect(used.join(' ')).toContain(`\${{ inputs.${name} }}`);
      expect(description).toMatch(/^[A-Z].*\.$/);
    }
    // Only the step that needs the token has it.
    const withToken = action.runs.steps.filter(({ env }) => JSON.stringify(env).includes('inputs.token'));
    expect(withToken.map(({ name }) => name)).toEqual(['Publish']);
  });

  it('annotates problems, fails, and then publishes nothing', async () => {
    put(
      'functions/broken.yaml',
      fixture('set-labels/1.0.0.yaml')
        .replace('group: functions', 'group: broken')
        .replace('type: object', 'type: objekt'),
    );
    const result = run({ ...publishing() });
    expect([result.code, result.ran]).toEqual([1, ['Build krmhub', 'Lint']]);
    expect(result.commands).toHaveLength(1);
    expect(result.commands[0]).toMatch(
      /^::error file=functions\/broken\.yaml,line=\d+,endLine=\d+,col=\d+,endColumn=\d+,title=schema\/unknown-type::/,
    );
    expect(await published('broken.example.com/SetLabels')).toEqual([]);
  });

  it('lints only, unless publish is set', () => {
    put('functions/good.yaml', fixture('set-labels/1.0.0.yaml'));
    put('deployment.yaml', 'apiVersion: apps/v1\nkind: Deployment\n');
    const result = run({});
    expect([result.code, result.ran, result.commands, result.outputs.result]).toEqual([
      0,
      ['Build krmhub', 'Lint'],
      [],
      '',
    ]);
    expect(result.log).toContain('1 file: no problems; 1 file of other kinds skipped');
  });

  it('publishes, and sets its outputs; a second run changes nothing', async () => {
    put('functions/one.yaml', fixture('set-labels/1.0.0.yaml'));
    put('functions/two file.yaml', fixture('set-namespace/1.4.2.yaml'));
    put('README.md', '# Set labels\n');
    const files = '  functions/one.yaml\r\n\n functions/two file.yaml \n';
    const dry = run({ ...publishing(), files, 'dry-run': 'true' });
    expect([dry.code, dry.commands]).toEqual([0, []]);
    expect(JSON.parse(dry.outputs.result!)).toMatchObject({ dryRun: true });
    expect(await published('functions.example.com/SetLabels')).toEqual([]);

    const result = run({ ...publishing(), files });
    expect([result.code, result.ran, result.commands]).toEqual([0, ['Build krmhub', 'Lint', 'Publish'], []]);
    const outcomes = (text: string) =>
      (JSON.parse(text) as { releases: { kind: string; outcome: string }[] }).releases.map(
        ({ kind, outcome }) => `${kind} ${outcome}`,
      );
    expect(outcomes(result.outputs.result!)).toEqual(['SetLabels created', 'SetNamespace created']);
    expect(result.log).not.toContain(registry.token);
    expect(outcomes(run({ ...publishing(), files }).outputs.result!)).toEqual([
      'SetLabels unchanged',
      'SetNamespace unchanged',
    ]);
    const named = run({
      ...publishing(),
      files: 'functions/one.yaml',
      release: '1.2.3',
      readme: 'README.md',
    });
    expect(named.code, named.log).toBe(0);
    expect(await published('functions.example.com/SetLabels')).toContain('1.2.3');
  });

  it('reports refusals with their lines, and breaks only if that is allowed', async () => {
    const text = fixture('set-labels/1.0.0.yaml').replace('group: functions', 'group: breaks');
    const later = (one: string) => one.replaceAll('v1.0.0', 'v1.1.0');
    put('a.yaml', text);
    expect(run({ ...publishing(), files: 'a.yaml' }).code).toBe(0);
    put('a.yaml', later(text).replace('name: v1beta1', 'name: v1'));
    const refused = run({ ...publishing(), files: 'a.yaml' });
    expect(refused.code).toBe(2);
    expect(refused.log).toMatch(/error\[publish\/breaking\]: .*\n +--> a\.yaml/);
    expect(refused.commands).toEqual([
      expect.stringMatching(
        /^::error title=krmhub::Some or all files were not published; .*\(exit code 1\)\.$/,
      ),
    ]);
    expect(refused.outputs.result).toBe('');
    expect(run({ ...publishing(), files: 'a.yaml', 'allow-breaking': 'true' }).code).toBe(0);
    expect(await published('breaks.example.com/SetLabels')).toContain('1.1.0');
  });

  it('executes no command from an input or a document', () => {
    const evil = '$(touch pwned) `touch pwned`; touch pwned #\n"; touch pwned; "\n--help\n-o';
    const checks = ['functions/one.yaml', evil].join('\n');
    put('functions/one.yaml', fixture('set-labels/1.0.0.yaml'));
    for (const given of [
      { files: checks },
      { ruleset: evil },
      { sarif: `out.sarif; touch pwned` },
      { 'rules-url': evil, sarif: 'x.sarif' },
      { version: evil },
      { publish: evil },
      { ...publishing(), release: evil },
      { ...publishing(), readme: evil },
      { ...publishing(), registry: evil },
      { ...publishing(), token: evil },
      { ...publishing(), 'allow-breaking': evil },
      { ...publishing(), 'dry-run': evil },
    ] as Record<string, string>[]) {
      const result = run(given);
      expect(result.commands.filter((line) => !/^::(error|warning|notice) /.test(line))).toEqual([]);
      const made = spawnSync('find', [folder, actionFolder, '-name', 'pwned']);
      expect([given, String(made.stdout)]).toEqual([given, '']);
      if (!('sarif' in given && !('rules-url' in given)))
        expect([given, result.code]).not.toEqual([given, 0]);
    }
    // The description of a function reaches the log of a publish only where commands are stopped.
    const description = '::add-mask::a ##[add-mask]b ::set-output name=result::c';
    put(
      'say.yaml',
      fixture('set-labels/1.0.0.yaml').replace(/description: Set labels.*/, `description: "${description}"`),
    );
    put('functions/one.yaml', fixture('set-labels/1.0.0.yaml'));
    run({ ...publishing(), files: 'functions/one.yaml' });
    const refused = run({ ...publishing(), files: 'say.yaml' });
    expect(refused.code).toBe(2);
    expect(refused.commands.filter((line) => !line.startsWith('::error title=krmhub::'))).toEqual([]);
  });

  it('writes SARIF on request, also if lint fails', () => {
    put('functions/broken.yaml', fixture('set-labels/1.0.0.yaml').replace('type: object', 'type: objekt'));
    const rulesUrl = 'https://git.example.com/lint-rules.md';
    const result = run({ sarif: 'krmhub.sarif', 'rules-url': rulesUrl });
    expect([result.code, result.commands.length]).toEqual([1, 1]);
    const log = JSON.parse(readFileSync(path.join(workspace, 'krmhub.sarif'), 'utf8'));
    expect(log.runs[0].results[0]).toMatchObject({ ruleId: 'schema/unknown-type', level: 'error' });
    expect(log.runs[0].tool.driver.rules[0].helpUri).toBe(`${rulesUrl}#schema`);
  });

  it('overwrites no file through a link in the workspace, and none outside of it', () => {
    put('functions/good.yaml', fixture('set-labels/1.0.0.yaml'));
    const precious = path.join(folder, 'precious');
    writeFileSync(precious, 'mine');
    symlinkSync(precious, path.join(workspace, 'krmhub.sarif'));
    expect(run({ sarif: 'krmhub.sarif' }).code).toBe(0);
    expect(readFileSync(precious, 'utf8')).toBe('mine');
    expect(JSON.parse(readFileSync(path.join(workspace, 'krmhub.sarif'), 'utf8')).version).toBe('2.1.0');
    symlinkSync(folder, path.join(workspace, 'out'));
    const outside = run({ sarif: 'out/precious' });
    expect(outside.code).toBe(2);
    expect(readFileSync(precious, 'utf8')).toBe('mine');
  });

  it('requires its inputs', () => {
    put('a.yaml', fixture('set-labels/1.0.0.yaml'));
    const said = (given: Record<string, string>) => {
      const { code, commands } = run(given);
      return [code, commands.map((line) => line.replace(/^::error title=krmhub::/, ''))];
    };
    expect(said({ files: ' \n ' })).toEqual([
      2,
      ['The input files is empty. List one file or folder per line.'],
    ]);
    expect(said({ ...publishing(), token: '' })).toEqual([
      2,
      [expect.stringMatching(/^The job has no credentials/)],
    ]);
    expect(said({ ...publishing(), registry: '' })).toEqual([
      2,
      [expect.stringMatching(/^The input registry/)],
    ]);
    expect(said({ publish: 'yes' })).toEqual([2, ['The input publish must be true or false.']]);
    expect(said({ ...publishing(), 'dry-run': 'no' })).toEqual([
      2,
      ['The input dry-run must be true or false.'],
    ]);
    expect(said({ version: '99.0.0' })).toEqual([
      2,
      [expect.stringMatching(/^This action runs krmhub .* asks for another one\.$/)],
    ]);
    const version = JSON.parse(readFileSync(path.join(root, 'apps/cli/package.json'), 'utf8'))
      .version as string;
    expect(run({ version: `v${version}` }).code).toBe(0);
  });

  it("runs this checkout's own krmhub by default", () => {
    cpSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), path.join(workspace, 'a.yaml'));
    const result = run({ program: '' });
    expect([result.code, result.log]).toEqual([0, expect.stringContaining('1 file: no problems')]);
  });
});
