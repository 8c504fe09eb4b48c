import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readYaml } from '@krmhub/yaml';
import { afterEach, describe, expect, it } from 'vitest';
import { expectEnd } from '../../testing/command-line.js';
import {
  DEPLOYMENT,
  ENGINE,
  type FnPackage,
  fnPackage,
  KPTFILE,
  SERVICE,
  script,
} from '../../testing/fn-package.js';

let pack: FnPackage;
let server: Server | undefined;
afterEach(async () => {
  server?.close();
  server = undefined;
  await pack.remove();
});

const CONFIG = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  a: "1"\n';
const pipeline = (text: string, annotations = '') => `${KPTFILE}${annotations}pipeline:\n${text}`;
const annotated = (name: string) => `  annotations:\n    kpt.dev/${name}: "true"\n`;
/** Writes the names of its items, and of its functionConfig, into a log. */
const LOG = script(
  `in=$(cat); printf '%s\\n' "$in"; printf '%s:' "$1" >> "$FN_FOLDER/log"; printf '%s\\n' "$in" | sed -n '/^functionConfig/,$ s/^    a: /a=/p; s/^    name: //p; s/^functionConfig.*/|/p' | tr '\\n' ' ' >> "$FN_FOLDER/log"; echo >> "$FN_FOLDER/log"`,
);
const lines = () =>
  pack
    .read('log')
    .trim()
    .split('\n')
    .map((line) => line.trim());
const value = (text: string) => readYaml(new TextEncoder().encode(text), { file: '' }).documents[0]!.value;
const readStatus = (name = 'app/Kptfile') => (value(pack.read(name)) as { status?: unknown }).status;
const render = (...args: string[]) => pack.fn(['render', 'app', '--allow-package-exec', ...args]);

describe('a step of a Kptfile of kpt 1.0', () => {
  it('gets its functionConfig from a resource that earlier steps can change', async () => {
    pack = await fnPackage({
      'log.sh': LOG,
      'set.sh': script(`sed 's/a: "1"/a: "2"/'`),
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: ./set.sh\n  - exec: ./log.sh one\n    configRef: {kind: ConfigMap, name: config}\n    selectors: [{kind: Deployment}]\n',
      ),
      'app/deployment.yaml': DEPLOYMENT,
      'app/config.yaml': CONFIG,
      'app/sub/Kptfile': KPTFILE.replace('app', 'sub'),
      'app/sub/config.yaml': CONFIG,
    });
    expectEnd(await render(), 0);
    // Not the one of the subpackage.
    expect(lines()).toEqual([`one:web # the shop | config a="2"`]);
  });

  it.each([
    ['is not there', '{kind: ConfigMap, name: other}', 'not found in package'],
    ['is not the only one', '{kind: ConfigMap, name: config}', 'matched 2 resources, must match exactly one'],
  ])('fails if the resource of its configRef %s', async (_, reference, message) => {
    pack = await fnPackage({
      'app/Kptfile': pipeline(`  mutators:\n  - exec: cat\n    configRef: ${reference}\n`),
      'app/a.yaml': CONFIG,
      'app/b.yaml': CONFIG.replace('name: config', 'name: config\n  namespace: b'),
    });
    const io = await render();
    expectEnd(io, 1, `configRef: resource /ConfigMap "${/name: (\w+)/.exec(reference)![1]}" ${message}`);
    expect(readStatus()).toMatchObject({
      conditions: [{ reason: 'RenderFailed' }],
      renderStatus: {
        mutationSteps: [{ exec: 'cat', exitCode: 1, executionError: expect.stringContaining(message) }],
      },
    });
  });

  it('does not get the file of its own configPath as an item, but other steps do', async () => {
    pack = await fnPackage({
      'log.sh': LOG,
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: ./log.sh own\n    configPath: ./config.yaml\n  - exec: ./log.sh other\n  validators:\n  - exec: ./log.sh check\n    configPath: config.yaml\n',
      ),
      'app/config.yaml': CONFIG,
      'app/deployment.yaml': DEPLOYMENT,
    });
    expect((await render()).exitCode).toBe(0);
    expect(lines()).toEqual([
      'own:app web # the shop | config a="1"',
      'other:app config web # the shop',
      'check:app web # the shop | config a="1"',
    ]);
    expect(pack.read('app/config.yaml')).toBe(CONFIG);
  });

  it('gets the resources of files that match, in a step and in a selector', async () => {
    const step = (name: string, more: string) => `  - exec: ./log.sh ${name}\n    ${more}\n`;
    const resource = (name: string) => CONFIG.replace('name: config', `name: ${name}`);
    pack = await fnPackage({
      'log.sh': LOG,
      'app/Kptfile': pipeline(
        [
          '  mutators:\n',
          step('part', 'resourceFileRegexp: vol.*.yaml'),
          step('folder', 'resourceFileRegexp: sub/below'),
          step('both', 'resourceFileRegexp: ^sub/\n    selectors: [{resourceFileRegexp: "2[.]yaml$"}]'),
          step('without', 'exclude: [{resourceFileRegexp: vol}, {kind: Kptfile}]'),
        ].join(''),
      ),
      'app/vol1.yaml': resource('one'),
      'app/other.yaml': resource('other'),
      'app/sub/Kptfile': pipeline(`  mutators:\n${step('sub', 'resourceFileRegexp: ^sub/vol')}`),
      'app/sub/vol2.yaml': resource('two'),
      'app/sub/below/vol3.yaml': resource('three'),
    });
    expectEnd(await render(), 0);
    // Paths are those in the root package, also for a step of a subpackage.
    expect(
      lines().map((line) =>
        line
          .split(/[: ]+/)
          .filter((word) => !word.startsWith('a='))
          .sort()
          .join(' '),
      ),
    ).toEqual(['sub two', 'one part three two', 'folder three', 'both two', 'other without']);
  });

  it('is skipped where its condition is false, after selectors, and says so', async () => {
    const step = (name: string, when: string) =>
      `  - exec: ./log.sh ${name}\n    name: ${name}\n    when: "${when}"\n    selectors: [{kind: Deployment}]\n`;
    pack = await fnPackage({
      'log.sh': LOG,
      'app/Kptfile': pipeline(
        [
          '  mutators:\n',
          step('yes', `resources.exists(r, r.metadata.name == 'web')`),
          step('no', `resources.filter(r, r.kind == 'Service').size() > 0`),
        ].join(''),
      ),
      'app/deployment.yaml': DEPLOYMENT,
      'app/service.yaml': SERVICE,
    });
    const io = await render('--results-dir', 'results', '-o', 'json');
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain('[SKIPPED] "./log.sh no" (condition not met)\n');
    expect(io.err()).toContain('Successfully executed 1 function(s) in 1 package(s).');
    expect(lines()).toEqual(['yes:web # the shop']);
    expect(pack.read('results/results.yaml')).not.toContain('log.sh no');
    expect(JSON.parse(io.out()).functions).toMatchObject([
      { step: 'yes' },
      { step: 'no', skipped: true, passed: true },
    ]);
    expect(readStatus()).toMatchObject({
      renderStatus: {
        mutationSteps: [
          {
            name: 'yes',
            exec: './log.sh yes',
            exitCode: 0,
            when: `resources.exists(r, r.metadata.name == 'web')`,
          },
          {
            name: 'no',
            exitCode: 0,
            when: `resources.filter(r, r.kind == 'Service').size() > 0`,
            skipped: true,
          },
        ],
      },
    });
  });

  it.each([
    ['resources.all(', 'Kptfile is invalid:\nField: `pipeline.mutators[0].when`', false],
    ['resource.size() > 0', 'unknown variable resource', false],
    ['resources.size()', 'the expression must be a boolean, not int', false],
    ['has(resources[0].a) ? "a" : "b"', 'the expression must be a boolean, not string', false],
    [
      'resources[0].kind',
      'condition `resources[0].kind` of pipeline.mutators[0]: the expression must be a boolean, not string "Kptfile"',
      true,
    ],
    ['resources[5].kind == "A"', 'cannot evaluate the condition `resources[5].kind == "A"`', true],
  ])('fails if its condition is %s', async (when, message, isRun) => {
    pack = await fnPackage({ 'app/Kptfile': pipeline(`  mutators:\n  - exec: cat\n    when: '${when}'\n`) });
    const io = await render();
    expectEnd(io, 1, message);
    expect(readStatus() !== undefined).toBe(isRun);
    expect(io.err()).not.toContain('Use has(…)');
  });

  it('runs the newest tag that its constraint allows', async () => {
    const asked: string[] = [];
    server = createServer((request, response) => {
      asked.push(request.url!);
      response.end(
        JSON.stringify({
          name: 'fns/set-labels',
          tags: ['v0.1.0', 'v0.2.0', 'v0.2.10', 'v0.2.9', 'v1.0.0', 'latest'],
        }),
      );
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server!.once('listening', resolve));
    const registry = `localhost:${(server.address() as AddressInfo).port}`;
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/set-labels.sh': 'cat\n',
      'app/Kptfile': pipeline(`  mutators:\n  - image: ${registry}/fns/set-labels:v9\n    tag: ~0.2\n`),
    });
    const io = await pack.fn(['render', 'app']);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain(`[RUNNING] "${registry}/fns/set-labels:v0.2.10"`);
    expect(asked.some((url) => url.startsWith('/v2/fns/set-labels/tags/list'))).toBe(true);
    expect(readStatus()).toMatchObject({
      renderStatus: { mutationSteps: [{ image: `${registry}/fns/set-labels:v0.2.10` }] },
    });
    const none = {
      'app/Kptfile': pipeline(`  mutators:\n  - image: ${registry}/fns/set-labels\n    tag: ">=3"\n`),
    };
    await pack.remove();
    pack = await fnPackage({ 'bin/docker': ENGINE, ...none });
    const failed = await pack.fn(['render', 'app']);
    expectEnd(
      failed,
      3,
      `cannot resolve the tag ">=3" of ${registry}/fns/set-labels: none of its 6 tags matches`,
    );
  });

  it('has short images in the catalog of kpt, or where --image-prefix says', async () => {
    pack = await fnPackage({
      'bin/docker': ENGINE,
      'images/set-labels.sh': 'cat\n',
      'app/Kptfile': pipeline('  mutators:\n  - image: set-labels:v0.1\n    tag: v0.2.1\n'),
    });
    expect((await pack.fn(['render', 'app'])).err()).toContain(
      '[RUNNING] "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.1"',
    );
    const other = await pack.fn(['render', 'app', '--image-prefix', 'registry.example.com/fns']);
    expect(other.err()).toContain('[RUNNING] "registry.example.com/fns/set-labels:v0.2.1"');
    const evaluated = await pack.fn([
      'eval',
      'app',
      '-i',
      'set-labels',
      '--image-prefix',
      'registry.example.com/',
    ]);
    expect(evaluated.err()).toContain('[RUNNING] "registry.example.com/set-labels"');
  });
});

describe('a Kptfile of kpt 1.0', () => {
  it('can want the pipeline of a package before those below it', async () => {
    const log = (name: string) => pipeline(`  mutators: [{exec: ./log.sh ${name}}]\n`).replace('app', name);
    pack = await fnPackage({
      'log.sh': LOG,
      'rename.sh': script("sed 's/name: service/name: renamed/'"),
      'app/Kptfile': pipeline(
        '  mutators:\n  - exec: ./log.sh app\n  - exec: ./rename.sh\n',
        annotated('bfs-rendering'),
      ),
      'app/b/Kptfile': log('b'),
      'app/b/c/Kptfile': log('c'),
      'app/b/c/service.yaml': SERVICE.replace('name: web', 'name: service'),
      'app/d/Kptfile': log('d'),
    });
    expectEnd(await render(), 0);
    expect(lines()).toEqual(['app:app b c service d', 'b:b c renamed', 'd:d', 'c:c renamed']);
    expect(pack.read('app/b/c/service.yaml')).toContain('name: renamed');
  });

  it.each(['', annotated('bfs-rendering')])(
    'can want what was rendered before a failure (%j)',
    async (order) => {
      const save =
        order === ''
          ? annotated('save-on-render-failure')
          : `${order}    kpt.dev/save-on-render-failure: "TRUE"\n`;
      pack = await fnPackage({
        'scale.sh': script('sed "s/replicas: 3/replicas: 5/"'),
        'fail.sh': script('cat > /dev/null; exit 3'),
        'app/Kptfile': pipeline('  mutators: [{exec: ./scale.sh}, {exec: ./fail.sh}]\n', save),
        'app/deployment.yaml': DEPLOYMENT,
        'app/sub/Kptfile': pipeline('  mutators: [{exec: cat}]\n').replace('app', 'sub'),
        'app/sub/service.yaml': SERVICE,
      });
      const io = await render();
      expect(io.exitCode).toBe(1);
      expect(pack.read('app/deployment.yaml')).toContain('replicas: 5');
      expect(pack.read('app/sub/service.yaml')).toBe(SERVICE);
      expect(io.err()).toContain(
        order === ''
          ? 'Partially executed 2 function(s) in 2 package(s).'
          : 'Partially executed 1 function(s) in 1 package(s).',
      );
      expect(readStatus()).toMatchObject({ renderStatus: { errorSummary: './fail.sh: exit code 3' } });
    },
  );

  it('says that a program cannot be started, as kpt does', async () => {
    pack = await fnPackage({
      'app/Kptfile': pipeline('  mutators: [{exec: cat}]\n  validators: [{exec: ./no.sh, name: check}]\n'),
      'app/sub/Kptfile': KPTFILE,
    });
    const io = await render();
    expect(io.exitCode).not.toBe(0);
    const error = expect.stringMatching(/^unexpected function error: .*no\.sh/);
    expect(readStatus()).toEqual({
      conditions: [
        {
          type: 'Rendered',
          status: 'False',
          reason: 'RenderFailed',
          message: expect.stringMatching(
            /^pkg\.render: pkg app:\n\tpipeline\.run: unexpected function error: /,
          ),
        },
      ],
      renderStatus: {
        mutationSteps: [{ exec: 'cat', exitCode: 0 }],
        validationSteps: [{ name: 'check', exec: './no.sh', executionError: error, exitCode: 1 }],
        errorSummary: expect.stringMatching(/^check: unexpected function error: /),
      },
    });
  });

  it('says which subpackage failed, and that a function may not run', async () => {
    pack = await fnPackage({
      'fail.sh': script('exit 3'),
      'app/Kptfile': `${KPTFILE}# end\n`,
      'app/sub/Kptfile': pipeline('  mutators: [{exec: ./fail.sh}]\n'),
    });
    const refused = await pack.fn(['render', 'app']);
    expect(refused.exitCode).toBe(4);
    expect(readStatus()).toMatchObject({
      conditions: [
        { message: expect.stringMatching(/^pkg\.render: pkg app\/sub:\n\tpipeline\.run: must run with /) },
      ],
      renderStatus: { mutationSteps: [{ exec: './fail.sh', exitCode: 1 }] },
    });
    await render();
    expect(readStatus()).toMatchObject({
      conditions: [{ message: 'pkg.render: pkg app/sub:\n\tpipeline.run: already handled error' }],
    });
    // Only the package that was named has a status.
    expect(readStatus('app/sub/Kptfile')).toBeUndefined();
    expect(pack.read('app/Kptfile').startsWith(`${KPTFILE}# end\n`)).toBe(true);
  });

  it('is not touched by a render that says the same, and never out of place or in a dry run', async () => {
    const text = pipeline('  mutators: # ours\n  -   exec:  cat # one\n').replaceAll('\n', '\r\n');
    pack = await fnPackage({ 'app/Kptfile': text, 'app/deployment.yaml': DEPLOYMENT });
    for (const more of [['--dry-run'], ['-o', 'unwrap'], ['-o', 'stdout'], ['-o', 'out']]) {
      expect((await render(...more)).exitCode).toBe(0);
      expect(pack.read('app/Kptfile')).toBe(text);
    }
    expect(pack.read('out/Kptfile')).not.toContain('status');
    await render();
    const after = pack.read('app/Kptfile');
    expect(after.startsWith(text)).toBe(true);
    expect(after).not.toMatch(/[^\r]\n/);
    expect(readStatus()).toMatchObject({ conditions: [{ status: 'True' }] });
    const again = await render('-o', 'json');
    expect(JSON.parse(again.out()).changes).toEqual([]);
    expect(pack.read('app/Kptfile')).toBe(after);
  });
});
