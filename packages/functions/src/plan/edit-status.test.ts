import { readYaml } from '@krmhub/yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { readResources } from '../resource-list/read-resources.js';
import { writeFileText } from '../resource-list/write-file.js';
import { editStatus } from './edit-status.js';
import type { RenderOutcome, StepOutcome } from './render-status.js';

const HEAD = `apiVersion: kpt.dev/v1 # the api
kind: Kptfile
metadata:
    name:  app # name
# info of the package
info:
    description: 'x'   # desc
`;
const step = (more: Partial<StepOutcome> = {}): StepOutcome => ({
  type: 'mutator',
  exec: './ok.sh',
  stderr: '',
  exitCode: 0,
  results: [],
  ...more,
});
const PASSED: RenderOutcome = { steps: [step()] };
const value = (text: string) =>
  readYaml(new TextEncoder().encode(text), { file: '' }).documents[0]!.value as never;
const status = (text: string) => (value(text) as { status: unknown }).status;
const comments = (text: string) => text.match(/#.*$/gm)?.map((one) => one.trim()) ?? [];

describe('the status of a render', () => {
  it('is added below everything else', async () => {
    expect(await editStatus(HEAD, PASSED)).toBe(`${HEAD}status:
    conditions:
        - type: Rendered
          status: "True"
          reason: RenderSuccess
    renderStatus:
        mutationSteps:
            - exec: ./ok.sh
              exitCode: 0
`);
  });

  it.each([
    ['compact', '  mutators:\n  - exec: ./ok.sh\n'],
    ['wide', '  mutators:\n    - exec: ./ok.sh\n'],
  ])(
    'has the %s lists of its file, so that a function that changes the file indents no line again',
    async (_, pipeline) => {
      const kptfile = `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n${pipeline}`;
      for (const before of [kptfile, `${kptfile}status: {}\n`, `${kptfile}status:\n  conditions: []\n`]) {
        const after = (await editStatus(before, PASSED))!;
        expect(status(after)).toMatchObject({ conditions: [{ type: 'Rendered' }] });
        expect(writeFileText('Kptfile', readResources(after, { path: 'Kptfile' }))).toBe(after);
      }
    },
  );

  it('is the condition alone without steps', async () => {
    expect(status((await editStatus(HEAD, { steps: [] }))!)).toEqual({
      conditions: [{ type: 'Rendered', status: 'True', reason: 'RenderSuccess' }],
    });
  });

  it('says what failed, as kpt does', async () => {
    const results = [
      { message: 'a', severity: 'error' as const, file: { path: 'cm.yaml', index: 0 } },
      { message: 'b', severity: 'info' as const, file: { path: 'cm.yaml', index: 1 } },
    ];
    const steps = [
      step({ step: 'first', when: 'true' }),
      step({ when: 'false', skipped: true }),
      step({ type: 'validator', exec: './fail.sh', stderr: 'why\n', exitCode: 3, results }),
      step({ exec: './no.sh', exitCode: 1, error: 'unexpected function error: no such file' }),
      step({ exec: undefined, function: 'example.com/v1 SetOwner' } as never),
    ];
    const failure = { packages: ['app/sub', 'app/sub/below'] };
    expect(status((await editStatus(HEAD, { steps, failure }))!)).toEqual({
      conditions: [
        {
          type: 'Rendered',
          status: 'False',
          reason: 'RenderFailed',
          message: 'pkg.render: pkg app/sub:\n\tpkg app/sub/below:\n\tpipeline.run: already handled error',
        },
      ],
      renderStatus: {
        mutationSteps: [
          { name: 'first', exec: './ok.sh', exitCode: 0, when: 'true' },
          { exec: './ok.sh', exitCode: 0, when: 'false', skipped: true },
          { exec: './no.sh', executionError: 'unexpected function error: no such file', exitCode: 1 },
          { name: 'example.com/v1 SetOwner', exitCode: 0 },
        ],
        validationSteps: [
          {
            exec: './fail.sh',
            stderr: 'why\n',
            exitCode: 3,
            results: [
              { message: 'a', severity: 'error', file: { path: 'cm.yaml' } },
              { message: 'b', severity: 'info', file: { path: 'cm.yaml', index: 1 } },
            ],
            errorResults: [{ message: 'a', severity: 'error', file: { path: 'cm.yaml' } }],
          },
        ],
        errorSummary: './fail.sh: exit code 3\n./no.sh: unexpected function error: no such file',
      },
    });
  });

  it('does not grow with what functions print', async () => {
    const steps = [step({ stderr: 'x'.repeat(1_000_000), results: Array(5_000).fill({ message: 'a' }) })];
    expect((await editStatus(HEAD, { steps }))!.length).toBeLessThan(60_000);
  });

  it('replaces the one before, and keeps comments, other conditions, and what is below', async () => {
    const text = `${HEAD}status: # of the package
    # all conditions
    conditions:
    - type: Rendered # by render
      status: "False"
      reason: RenderFailed # why
      message: |-
        two
        lines
    # is it ready?
    - type: Ready
      status: True
    newer: 1
    renderStatus:
      mutationSteps:
      - exec: ./ok.sh # mine
        exitCode: 1 # failed
        stderr: |
          # no comment
      - exec: ./gone.sh # gone
      errorSummary: 'a' # in short
# the inventory
inventory: {namespace: a}   # where
`;
    const after = (await editStatus(text, PASSED))!;
    expect(after.startsWith(HEAD)).toBe(true);
    expect(after.endsWith('\n# the inventory\ninventory: {namespace: a}   # where\n')).toBe(true);
    expect(status(after)).toEqual({
      newer: 1,
      conditions: [
        { type: 'Ready', status: true },
        { type: 'Rendered', status: 'True', reason: 'RenderSuccess' },
      ],
      renderStatus: { mutationSteps: [{ exec: './ok.sh', exitCode: 0 }] },
    });
    expect(comments(after).sort()).toEqual(
      comments(text)
        .filter((one) => one !== '# no comment')
        .sort(),
    );
    expect(await editStatus(after, PASSED)).toBe(after);
  });

  it('has the fields of a step in the order of kpt, whatever was there', async () => {
    const text = `${HEAD}status:\n  renderStatus:\n    mutationSteps:\n      - image: a:v1\n        exitCode: 0\n`;
    expect(await editStatus(text, PASSED)).toContain('      - exec: ./ok.sh\n        exitCode: 0\n');
  });

  it.each([
    ['no value', 'status:\n'],
    ['null', 'status: ~ # none\n'],
    ['an empty mapping', 'status: {} # none\n'],
    ['flow style', 'status: {conditions: [{type: Ready, status: "True"}]}\n'],
    ['nothing below it', 'status:\n  conditions: []'],
    ['empty lines below it', 'status:\n  conditions:\n\n\n# end\n'],
    ['another document below it', 'status:\n  conditions: []\n---\na: 1\n'],
    ['the end of the document below it', 'status:\n  conditions: []\n...\n'],
    [
      'text with empty lines',
      'status:\n  renderStatus:\n    mutationSteps:\n    - stderr: |+\n        a\n\n\ninventory: {}\n',
    ],
  ])('is written where it has %s', async (_, text) => {
    for (const all of [HEAD + text, (HEAD + text).replaceAll('\n', '\r\n'), `\ufeff${HEAD}${text}`]) {
      const after = (await editStatus(all, PASSED))!;
      expect(status(after)).toMatchObject({
        renderStatus: { mutationSteps: [{ exec: './ok.sh', exitCode: 0 }] },
      });
      expect(comments(after).sort()).toEqual(comments(all).sort());
      expect(/[^\r]\n/.test(after)).toBe(/[^\r]\n/.test(all));
      expect(await editStatus(after, PASSED)).toBe(after);
    }
  });

  it.each([
    ['without a line end', HEAD.trimEnd()],
    ['in flow style', '{apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: app}}\n'],
    [
      'in JSON with a status',
      '{"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "status": {"conditions": []}}',
    ],
    ['with a document below', `${HEAD}---\na: 1\n`],
  ])('is added to a Kptfile %s', async (_, text) => {
    const after = (await editStatus(text, PASSED))!;
    expect(status(after)).toMatchObject({ conditions: [{ type: 'Rendered' }] });
    expect(await editStatus(after, PASSED)).toBe(after);
  });

  it('is not written into a text that cannot be edited', async () => {
    expect(await editStatus('a: [', PASSED)).toBeUndefined();
    expect(await editStatus(`${HEAD}x: &a {b: 1}\nstatus: *a\ny: *a\n`, PASSED)).toBeUndefined();
  });

  it('loses no comment and changes nothing else, whatever was there', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new Random(seed);
      const pick = (count: number) => random.below(count);
      let count = 0;
      const maybe = (text: string) => (pick(3) === 0 ? text : '');
      const line = (text: string) => `${text}${maybe(` # c${count++}`)}\n`;
      const above = (indent: string) => maybe(`${indent}# c${count++}\n`);
      const steps = Array.from({ length: pick(3) }, () =>
        step({ stderr: maybe('a\nb\n'), exitCode: pick(2) }),
      );
      const conditions = ['Ready', 'Rendered', 'Other'].slice(pick(3));
      const wide = maybe('  ');
      const items = (indent: string, all: string[][]) =>
        all
          .flatMap((fields) =>
            fields.map((one, at) => above(indent) + line(`${indent}${at === 0 ? '- ' : '  '}${one}`)),
          )
          .join('');
      const old = [
        line('status:'),
        above('  '),
        line('  conditions:'),
        items(
          `  ${wide}`,
          conditions.map((type) => [`type: ${type}`, 'status: "True"']),
        ),
        line('  renderStatus:'),
        line('    mutationSteps:'),
        items(`    ${wide}`, [
          ['exec: ./ok.sh', 'exitCode: 0'],
          ['exec: ./b.sh', 'stderr: "x"', 'exitCode: 1'],
        ]),
        maybe('# at the end\n'),
        maybe(`inventory: {} # c${count++}\n`),
      ].join('');
      const text = HEAD + old;
      const after = await editStatus(text, {
        steps,
        ...(pick(2) === 0 ? {} : { failure: { packages: ['.'] } }),
      });
      expect(after, text).toBeDefined();
      expect(after!.startsWith(HEAD), text).toBe(true);
      expect(comments(after!).sort(), `${text}\n=>\n${after}`).toEqual(comments(text).sort());
      const { status: _, ...others } = value(text) as { status: unknown };
      const { status: __, ...now } = value(after!) as { status: unknown };
      expect(now).toEqual(others);
    }
  });
});
