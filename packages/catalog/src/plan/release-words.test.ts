import type { FunctionDefinition, JsonObject } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { NASTY_STRINGS } from '../testing/nasty-strings.js';
import { releaseWords } from './release-words.js';

const withSchemas = (...schemas: JsonObject[]) =>
  ({ versions: schemas.map((openAPIV3Schema) => ({ schema: { openAPIV3Schema } })) }) as unknown as Pick<
    FunctionDefinition,
    'versions'
  >;
const text = { type: 'string' };

describe('the words of a README', () => {
  const readme = (markdown: string) => releaseWords(withSchemas({}), Buffer.from(markdown)).readme;

  it('are those of its text, each once, without addresses and words that say nothing', () => {
    expect(
      readme(
        '# Set *labels*\n\nUse [kpt](https://kpt.dev/book) with the `Kptfile`, and set 12 a `matchLabels`.',
      ),
    ).toBe('Set labels kpt Kptfile matchLabels');
    expect(readme('<https://example.com/a/b> ![alt](image.png)\n```yaml\nkind: ConfigMap\n```')).toBe(
      'alt image png yaml kind ConfigMap',
    );
    expect(readme(`Größe 漢字 größe ${'x'.repeat(41)}`)).toBe('Größe 漢字');
    expect(releaseWords(withSchemas({}))).toEqual({ fields: '', readme: '' });
  });

  it('are bounded, and text that any database can store, whatever the README is', () => {
    const random = new Random(5);
    for (let count = 0; count < 500; count += 1) {
      const parts = Array.from({ length: random.below(3_000) }, () =>
        random.chance(0.02) ? random.pick(NASTY_STRINGS) : `w${random.below(5_000)}`,
      );
      const words = readme(parts.join(random.pick([' ', '\n', '.'])));
      expect(Buffer.byteLength(words)).toBeLessThan(8_193);
      expect(words).toBe(Buffer.from(words).toString());
      expect(words).not.toMatch(/\u0000|^ | $| {2}/);
      const all = words.toLowerCase().split(' ');
      expect(new Set(all).size).toBe(all.length);
    }
  });
});

describe('the names of fields', () => {
  it('are those of all schemas and levels, without those of every functionConfig', () => {
    const one = {
      properties: {
        apiVersion: text,
        kind: text,
        metadata: { properties: { name: text } },
        spec: {
          properties: { labelSelector: { additionalProperties: { properties: { inMap: text } } } },
          allOf: [{ properties: { inBranch: text } }],
        },
      },
    };
    const other = {
      properties: {
        list: { items: { properties: { 'a-b c.d': text, kind: text, properties: text, inMap: text } } },
      },
    };
    expect(releaseWords(withSchemas(one, other)).fields.split(' ').sort()).toEqual([
      'a-b-c-d',
      'inBranch',
      'inMap',
      'kind',
      'labelSelector',
      'list',
      'name',
      'properties',
      'spec',
    ]);
  });

  it('are bounded', () => {
    const properties = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field${at}`, text]));
    const { fields } = releaseWords(withSchemas({ properties }));
    expect(fields.length).toBeGreaterThan(8_000);
    expect(fields.length).toBeLessThan(8_193);
  });
});
