import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { spawn, spawnSync } from '../processes.js';
import { fixtures, krmhub, type RunningRegistry, root, startRegistry, temporaryFolder } from '../running.js';

/**
 * Schemathesis (https://schemathesis.io) makes requests from the OpenAPI document, valid and invalid ones,
 * and checks the responses of a running registry against that document.
 */
const tool = 'schemathesis';
const found = spawnSync(tool, ['--version'], { encoding: 'utf8' });
const missing = found.status !== 0;
const config = path.join(root, 'test/interop/schemathesis.toml');

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  if (missing) return;
  // It sends requests without a pause, with wrong tokens too.
  registry = await startRegistry(path.join(folder, 'data'), {
    KRMHUB_REQUESTS_PER_MINUTE: '0',
    KRMHUB_WRITES_PER_MINUTE: '0',
    KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
  });
  const publish = [
    ['set-labels/1.0.0.yaml'],
    [
      'set-labels/2.0.0.yaml',
      '--allow-breaking',
      '--readme',
      path.join(fixtures, 'functions/set-labels/README.md'),
    ],
    ['set-namespace/1.4.2.yaml'],
  ];
  for (const [file, ...options] of publish) {
    const args = ['publish', path.join(fixtures, 'functions', file!), ...options];
    expect(await krmhub(args, { env: registry.env })).toMatchObject({ code: 0 });
  }
  const recipe = path.join(fixtures, 'recipes/example-co.yaml');
  expect(await krmhub(['catalog', 'apply', recipe], { env: registry.env })).toMatchObject({ code: 0 });
});

afterAll(async () => {
  await registry?.stop();
  remove();
});

async function run(options: readonly string[]): Promise<{ code: number | null; output: string }> {
  const args = [
    ...['--config-file', config, 'run', `${registry.url}/openapi.json`],
    ...[
      '--seed',
      '20',
      '--no-color',
      '--continue-on-failure',
      '--no-shrink',
      '--generation-database',
      'none',
    ],
    ...['--header', `Authorization: Bearer ${registry.token}`, '--request-timeout', '30'],
    ...options,
  ];
  const child = spawn(tool, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

// The title of a skipped test contains the reason.
const title = missing
  ? `follows its OpenAPI document (${tool} is not on the PATH)`
  : 'follows its OpenAPI document';

describe.skipIf(missing)(`the registry ${title}`, () => {
  it('responds to every request as the document says', async () => {
    const excluded = ['revokeToken', 'takeDownRelease'].flatMap((id) => ['--exclude-operation-id', id]);
    const { code, output } = await run(['--max-examples', '30', ...excluded]);
    expect(output).toMatch(/[1-9]\d{3,} generated/);
    expect(code, output).toBe(0);
  });

  // Separately and without the links between operations: with links it would revoke its own token, and take
  // down the releases that it reads next.
  it('responds to revocations and takedowns as the document says', async () => {
    const included = ['revokeToken', 'takeDownRelease'].flatMap((id) => ['--include-operation-id', id]);
    const options = [...included, '--phases', 'examples,coverage,fuzzing'];
    const { code, output } = await run(['--max-examples', '30', ...options]);
    expect(output).toMatch(/[1-9]\d* generated/);
    expect(code, output).toBe(0);
  });

  it('still works afterwards', async () => {
    const response = await fetch(`${registry.url}/readyz`);
    expect([response.status, await response.json()]).toMatchObject([200, { status: 'ok' }]);
    const { total } = (await (await fetch(`${registry.url}/api/v1/functions`)).json()) as { total: number };
    expect(total).toBeGreaterThanOrEqual(2);
  });
});
