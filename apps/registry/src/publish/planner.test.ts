import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PublishInput } from '@krmhub/catalog';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { definitionText } from '../testing/test-registry.js';
import { builtEntry } from '../workers/isolation/built-entry.js';
import { Planner } from './planner.js';

/** The built file: a process cannot read TypeScript. */
const frames = path.join(path.dirname(builtEntry('plan-process')), '../workers/isolation/frames.js');
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-planner-'));
let planner: Planner;
let scripts = 0;

afterEach(() => planner.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a planner whose process runs the body with `input`, and responds with `answer`. */
function plannerThat(body: string, milliseconds?: number): Planner {
  const module = path.join(folder, `process-${scripts++}.mjs`);
  const source = `import { writeSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { respondToFrames } from ${JSON.stringify(frames)};
respondToFrames((bytes) => {
  const input = deserialize(bytes);
  let said;
  const answer = (value) => { said = serialize(value); };
  ((input) => { ${body} })(input);
  return said;
});`;
  writeFileSync(module, source);
  planner = new Planner({ module, ...(milliseconds === undefined ? {} : { milliseconds }) });
  return planner;
}

function input(bytes: number): PublishInput {
  const text = definitionText({ kind: 'Large', release: '1.0.0' });
  return {
    name: { group: 'example.com', kind: 'Large' },
    release: '1.0.0',
    bytes: new TextEncoder().encode(text + '#'.repeat(Math.max(0, bytes - text.length))),
    mediaType: 'application/yaml',
    current: undefined,
    currentRelease: undefined,
    takedowns: [],
    displayed: undefined,
    predecessor: undefined,
    allowBreaking: false,
    now: '2030-01-01T00:00:00.000Z',
    by: 'test',
  };
}

const LIMIT = SERVER_LIMITS.maxPlannedInlineBytes;

describe('Planner', () => {
  it('plans one small definition per turn of the event loop', async () => {
    planner = new Planner();
    let planned = 0;
    const all = Promise.all(
      Array.from({ length: 5 }, () => planner.plan(input(100)).then(() => (planned += 1))),
    );
    const perTurn: number[] = [];
    while (planned < 5) {
      const before = planned;
      await nextTurn();
      perTurn.push(planned - before);
    }
    await all;
    expect(Math.max(...perTurn)).toBe(1);
  });

  it('uses the process only above the size limit', async () => {
    plannerThat(`answer({ plan: { outcome: 'invalid', diagnostics: [], from: 'process' } })`);
    expect(await planner.plan(input(LIMIT))).toMatchObject({ outcome: 'created' });
    expect(await planner.plan(input(LIMIT + 1))).toMatchObject({ from: 'process' });
  });

  it.each([
    [11, 'patterns of 1,000 instructions', '{type: string, pattern: "a{1000}"}', 'process'],
    [10, 'patterns of 1,000 instructions', '{type: string, pattern: "a{1000}"}', undefined],
    [
      50,
      'rules',
      '{type: string, x-kubernetes-validations: [{rule: "self != \'a\' && self.size() < 9"}]}',
      'process',
    ],
    [50, 'patterns of a name', '{type: string, pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$"}', undefined],
  ])('plans a small definition with %i %s by their cost', async (count, _, field, from) => {
    plannerThat(`answer({ plan: { outcome: 'invalid', diagnostics: [], from: 'process' } })`);
    const fields = Array.from({ length: count }, (_, at) => `          f${at}: ${field}\n`).join('');
    const text = definitionText({ kind: 'Large', release: '1.0.0' });
    const bytes = new TextEncoder().encode(text.replace(/^ +labels:\n/m, (found) => fields + found));
    expect(bytes.byteLength).toBeLessThan(LIMIT);
    const plan = (await planner.plan({ ...input(0), bytes })) as { outcome: string; from?: string };
    expect([plan.from, plan.outcome]).toEqual([from, from === undefined ? 'created' : 'invalid']);
  });

  it('checks recipes with costly defaults in the process', async () => {
    const recipe = (patterns: number) => {
      const fields = Array.from(
        { length: patterns },
        (_, at) => `            f${at}: {type: string, pattern: "a{1000}"}\n`,
      );
      return Buffer.from(`apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: costly}
spec:
  sources:
  - name: elsewhere
    catalog:
      url: https://example.com/catalog.yaml
    defaults:
      schema:
        openAPIV3Schema:
          type: object
          properties:
${fields.join('')}`);
    };
    plannerThat(`answer({ checked: { diagnostics: [], from: 'process' } })`);
    expect(await planner.readRecipe(recipe(11), 'r.yaml')).toMatchObject({ from: 'process' });
    expect(await planner.readRecipe(recipe(2), 'r.yaml')).not.toHaveProperty('from');
    await planner.close();
    planner = new Planner();
    for (const patterns of [2, 11]) {
      const text = recipe(patterns);
      const checked = await planner.readRecipe(text, 'r.yaml');
      expect(checked.diagnostics).toEqual([]);
      expect(checked.recipe).toBeDefined();
      const wrong = Buffer.from(text.toString().replace('a{1000}', 'a('));
      const { diagnostics } = await planner.readRecipe(wrong, 'r.yaml');
      expect(diagnostics).toMatchObject([{ code: 'recipe/defaults' }]);
    }
  });

  it('returns the same plan from the process as without it', async () => {
    planner = new Planner();
    const small = await planner.plan(input(0));
    const large = await planner.plan(input(LIMIT + 1));
    expect([small, large]).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }]);
    if (small.outcome !== 'created' || large.outcome !== 'created') throw new Error('nothing is created');
    expect(large.change.release.definition).toEqual(small.change.release.definition);
    expect(large.files[0]).toEqual(input(LIMIT + 1).bytes);
  });

  it('converts conflicts and failures of the process to errors', async () => {
    plannerThat(`answer({ conflict: { message: 'it stands', hint: 'Publish another.' } })`);
    expect(await planner.plan(input(LIMIT + 1))).toMatchObject({
      outcome: 'conflict',
      error: { name: 'KrmhubError', code: 'conflict', message: 'it stands', hint: 'Publish another.' },
    });
    await planner.close();
    plannerThat(`answer({ failure: new RangeError('a fault') })`);
    await expect(planner.plan(input(LIMIT + 1))).rejects.toThrow(new RangeError('a fault'));
  });

  it.each([
    ['never ends', 'for (;;);', 1_000],
    [
      'takes all memory',
      'const all = []; for (;;) all.push(new Array(100_000).fill(input.bytes.length + all.length));',
      60_000,
    ],
    ['writes without end', 'for (;;) writeSync(1, Buffer.alloc(1_048_576));', 60_000],
    ['breaks the process', 'process.exit(3)', 60_000, 'unavailable'],
  ])(
    'refuses a definition that %s, continues meanwhile, and restarts',
    async (_, body, milliseconds, code = 'invalid-request') => {
      plannerThat(
        `if (input.bytes.length % 2 === 0) { answer({ plan: { outcome: 'unchanged' } }); return; } ${body}`,
        milliseconds,
      );
      const odd = LIMIT + 1 + (LIMIT % 2);
      const refused = planner.plan(input(odd));
      const next = planner.plan(input(odd + 1));
      expect(await planner.plan(input(LIMIT))).toMatchObject({ outcome: 'created' });
      await expect(refused).rejects.toMatchObject({ code });
      expect(await next).toEqual({ outcome: 'unchanged' });
    },
  );

  it('refuses requests beyond the limit of waiting ones', async () => {
    plannerThat(`answer({ plan: { outcome: 'unchanged' } })`);
    const waiting = Array.from({ length: SERVER_LIMITS.maxPlansWaiting }, () =>
      planner.plan(input(LIMIT + 1)),
    );
    await expect(planner.plan(input(LIMIT + 1))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await Promise.all(waiting)).toHaveLength(SERVER_LIMITS.maxPlansWaiting);
    expect(await planner.plan(input(LIMIT + 1))).toEqual({ outcome: 'unchanged' });
  });
});
