import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { convertDocument } from '../convert/convert.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { lintDefinition } from './lint-definition.js';

const data = fileURLToPath(new URL('../../../../../shared/data/', import.meta.url));
const present = existsSync(data);

/** What lint finds in the definitions that the files of a folder convert to. */
function convertedFrom(folder: string, name: RegExp): { count: number; diagnostics: Diagnostic[] } {
  const files = (readdirSync(`${data}${folder}`, { recursive: true }) as string[]).filter((file) =>
    name.test(file),
  );
  const definitions = files.flatMap((file) =>
    readYaml(readFileSync(`${data}${folder}/${file}`), { file, limits: {} }).documents.flatMap((document) =>
      convertDocument(document, { file, release: 'v0.1.0' }).flatMap(({ definitions }) =>
        definitions.map((definition) => ({ file, definition })),
      ),
    ),
  );
  return {
    count: definitions.length,
    diagnostics: definitions.flatMap(({ file, definition }) => lintDefinition(definition, { file })),
  };
}

const codes = (diagnostics: readonly Diagnostic[]): string[] =>
  [...new Set(diagnostics.map(({ code }) => code))].sort();
const errors = (diagnostics: readonly Diagnostic[]): Diagnostic[] =>
  diagnostics.filter(({ severity }) => severity === 'error');

describe.skipIf(!present)('definitions converted from real files (skipped if shared/data is missing)', () => {
  it('kpt function metadata has warnings for missing fields, and no errors', () => {
    const { count, diagnostics } = convertedFrom('kpt-metadata', /(?:^|\/)metadata\.yaml$/);
    expect(count).toBe(75);
    expect(errors(diagnostics)).toEqual([]);
    expect(codes(diagnostics)).toEqual(
      expect.arrayContaining(['image/unpinned-release', 'link/moving-branch', 'schema/open']),
    );
  });

  it('Krew plugins have no errors', () => {
    const { count, diagnostics } = convertedFrom('krew', /\.yaml$/);
    expect(count).toBeGreaterThan(0);
    expect(
      errors(diagnostics).map(({ code, path, message, file }) => `${file} ${code} ${path} ${message}`),
    ).toEqual([]);
  });
});
