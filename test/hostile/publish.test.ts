import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { krmhub } from '../running.js';
import { attackRegistry } from './attacked.js';
import { batches, CORPUS, firstUnsafe } from './corpus.js';
import { GROUP } from './definition.js';
import type { HostileCase } from './hostile-case.js';
import { findFault } from './neighbor.js';

const attacked = attackRegistry();

let release = 0;

/** Publishes the bytes as a release of the kind that they name, so that only their content can be refused. */
function put(
  bytes: Uint8Array,
  contentType: string,
  body: FormData | Uint8Array<ArrayBuffer> = new Uint8Array(bytes),
): Promise<Response> {
  const kind = /"kind":"([A-Za-z0-9]+)"/g;
  const text = Buffer.from(bytes).toString('latin1').slice(0, 2_000);
  const named = [...text.matchAll(kind)]
    .map((match) => match[1]!)
    .find((name) => name !== 'KRMFunctionDefinition');
  const url = `${attacked.registry.url}/api/v1/functions/${GROUP}/${named ?? 'Hostile'}/releases/1.0.${release++}`;
  return fetch(`${url}?allowBreaking=true`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${attacked.registry.token}`,
      ...(contentType === '' ? {} : { 'content-type': contentType }),
    },
    body,
    signal: AbortSignal.timeout(200_000),
  });
}

function form(bytes: Uint8Array): FormData {
  const data = new FormData();
  data.set('definition', new File([new Uint8Array(bytes)], 'definition.yaml', { type: 'application/yaml' }));
  data.set('readme', new File([new Uint8Array(bytes.subarray(0, 262_144))], 'README.md'));
  return data;
}

/** Reports whether the response matches the expectation of the case; returns the problem if it does not. */
async function judge({ name, verdict }: HostileCase, response: Response): Promise<string | undefined> {
  const accepted = response.status === 201 || response.status === 200;
  const fault = await findFault(response, verdict === 'refused' ? [] : [200, 201]);
  if (fault !== undefined) return `${name}: ${fault}`;
  return verdict === 'taken' && !accepted ? `${name}: refused with ${response.status}` : undefined;
}

describe('hostile definitions sent to the registry', () => {
  it.each([
    ['YAML', (bytes: Uint8Array) => put(bytes, 'application/yaml')],
    ['JSON', (bytes: Uint8Array) => put(bytes, 'application/json')],
    ['a form', (bytes: Uint8Array) => put(bytes, '', form(bytes))],
  ] as const)('are checked when they are sent as %s', async (what, send) => {
    const faults: string[] = [];
    // Every content type goes through the same checks: all cases as YAML, some of them as the others.
    for (const one of CORPUS.filter((_, index) => what === 'YAML' || index % 4 === 0)) {
      // YAML that is not JSON is refused for its syntax, and a README that is not text for its encoding.
      const verdict = what === 'YAML' || one.verdict === 'refused' ? one.verdict : 'either';
      const fault = await judge({ ...one, verdict }, await send(one.make()));
      if (fault !== undefined) faults.push(fault);
    }
    expect(faults).toEqual([]);
    await attacked.expectUnharmed();
  });

  it('are checked when many are sent concurrently', async () => {
    const largest = [...CORPUS]
      .map((one) => ({ one, bytes: one.make() }))
      .filter(({ bytes }) => bytes.length > 300_000);
    expect(largest.length).toBeGreaterThan(10);
    for (const batch of batches(largest, 8)) {
      const answers = await Promise.all(
        batch.map(async ({ one, bytes }) =>
          judge(
            { ...one, verdict: one.verdict === 'taken' ? 'either' : one.verdict },
            await put(bytes, 'application/yaml'),
          ),
        ),
      );
      expect(answers.filter((fault) => fault !== undefined)).toEqual([]);
    }
    await attacked.expectUnharmed();
  });

  it('that were accepted are in the catalog, and the registry is ready', async () => {
    const ready = await fetch(`${attacked.registry.url}/readyz`);
    expect(ready.status).toBe(200);
    const catalog = await (await fetch(`${attacked.registry.url}/catalogs/default/catalog.yaml`)).text();
    expect(catalog).toContain('kind: Wide');
    expect(firstUnsafe(catalog.replaceAll('\t', ''))).toBeUndefined();
    expect(attacked.neighbor.responses).toBeGreaterThan(100);
  });
});

describe('hostile definitions given to krmhub publish', () => {
  it('are refused or published, and the output has nothing that acts on a terminal', async () => {
    const chosen = CORPUS.filter((_, index) => index % 12 === 0);
    for (const [index, { name, verdict, make }] of chosen.entries()) {
      const file = path.join(attacked.folder, `publish-${index}.yaml`);
      writeFileSync(file, make());
      const finished = await krmhub(['publish', file, '--release', `2.0.${index}`], {
        env: attacked.registry.env,
      });
      // Tabs separate the columns of the output for programs.
      expect(firstUnsafe(finished.stdout.replaceAll('\t', ' ') + finished.stderr), name).toBeUndefined();
      expect(finished.stdout + finished.stderr, name).not.toMatch(/internal|node:| {4}at /);
      if (verdict === 'refused') expect(finished.code, name).not.toBe(0);
    }
  });
});
