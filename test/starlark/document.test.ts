import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_RUN_LIMITS } from '@krmhub/functions';
import { MODULE_FILES } from '@krmhub/functions/starlark/module-files';
import { StarlarkSession } from '@krmhub/functions/starlark/starlark-session';
import { afterAll, describe, expect, it } from 'vitest';

/** The examples of docs/starlark.md: what each prints follows it. */
const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/starlark.md'), 'utf8');
const EXAMPLE = /^```python\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```$/gm;
const examples = [...page.matchAll(EXAMPLE)].map(([, script, output]) => [script!, output!] as const);
const INPUT = Buffer.from('apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n');

const session = new StarlarkSession();
afterAll(() => session.close());

describe('the examples of docs/starlark.md', () => {
  it('are there for every module', () => {
    const loaded = new Set(examples.map(([script]) => /load\("([^"]+)"/.exec(script)![1]!));
    const modules = [...MODULE_FILES].filter(([file, { unavailable, names }]) => {
      const isShort = [...MODULE_FILES.keys()].includes(`encoding/${file}`);
      return unavailable === undefined && !isShort && names.length > 0;
    });
    expect([...loaded].sort()).toEqual(modules.map(([file]) => file).sort());
    for (const [file, { names }] of modules) expect(page).toContain(`| \`${file}\` | \`${names[0]}\` |`);
  });

  it.each(examples)('%s', async (script, output) => {
    const task = { name: 'example.star', script: Buffer.from(script) };
    const { exitCode, stderr } = await session.run(task, INPUT, DEFAULT_RUN_LIMITS);
    expect([exitCode, Buffer.from(stderr).toString().trim()]).toEqual([0, output.trim()]);
  });
});
