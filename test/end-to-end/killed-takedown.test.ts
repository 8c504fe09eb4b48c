import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
afterAll(remove);

const rounds = 12;
/** Milliseconds after which the last one is killed. */
const LATEST = 96;
const text = readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), 'utf8');
const releasePath = (round: number) =>
  `/api/v1/functions/functions.example.com/SetLabels/releases/1.${round}.0`;
const marker = (round: number) => `qz${round}secretx`;

function post(registry: RunningRegistry, round: number): Promise<Response> {
  return fetch(`${registry.url}${releasePath(round)}/takedown`, {
    method: 'POST',
    headers: { authorization: `Bearer ${registry.token}`, 'content-type': 'application/json' },
    body: '{"reason": "leaked"}',
  });
}

/** Returns nothing for a file that the registry has renamed or removed meanwhile. */
function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

/** Files of the data folder that contain a text, plain or compressed. */
function filesWith(data: string, sought: string): string[] {
  return readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readBytes(file);
      return [() => bytes, () => gunzipSync(bytes), () => brotliDecompressSync(bytes)].some((read) => {
        try {
          return read().includes(sought);
        } catch {
          return false;
        }
      });
    });
}

it('a SIGKILL during a takedown leaves the release complete or fully deleted', async () => {
  const data = path.join(folder, 'data');
  const gone: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let registry = await startRegistry(data);
    const published = await fetch(`${registry.url}${releasePath(round)}?wait=true&allowBreaking=true`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${registry.token}`, 'content-type': 'application/yaml' },
      body: text.replace(/^( *description: )/m, `$1${marker(round)} `),
    });
    expect([published.status, filesWith(data, marker(round)).length > 0]).toEqual([201, true]);

    let acknowledged = false;
    const answer = post(registry, round).then(
      ({ status }) => {
        acknowledged = status === 200;
      },
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, (round * LATEST) / rounds));
    await registry.stop('SIGKILL');
    await answer;

    registry = await startRegistry(data);
    const { status } = await fetch(registry.url + releasePath(round));
    expect(acknowledged ? [410] : [200, 410]).toContain(status);
    if (status === 200) {
      const { status: repeated } = await post(registry, round);
      expect(repeated).toBe(200);
    }
    gone.push(round);
    for (const one of gone) expect([one, filesWith(data, marker(one))]).toEqual([one, []]);
    const catalog = async () => {
      const response = await fetch(`${registry.url}/catalogs/default/catalog.yaml`);
      return [response.status, (await response.text()).includes('secretx')];
    };
    await expect.poll(catalog).toEqual([200, false]);
    expect(await registry.stop()).toBe(0);
  }
  const record = readFileSync(path.join(data, 'takedowns.jsonl'), 'utf8').trim().split('\n');
  expect(record).toHaveLength(rounds);
}, 480_000);
