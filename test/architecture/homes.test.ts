import { readFileSync } from 'node:fs';
import path from 'node:path';
import { TOKEN_SCOPES } from '@krmhub/api/token-scopes';
import { ERROR_CODES, EVENT_TYPES, PROFILES, RUNTIME_KINDS } from '@krmhub/schema';
import { FACET_NAMES } from '@krmhub/schema/facets';
import { describe, expect, it } from 'vitest';
import { root } from '../running.js';
import { sourceFiles } from './sources.js';

/**
 * Each concept has one home. A file that repeats most of its names is a second one, which somebody who adds a name would
 * have to know: either it is made from the first, or it is listed here and in ARCHITECTURE.md, and the compiler checks
 * that it has every name.
 */
interface Concept {
  names: readonly string[];
  /** A file with this many of the names is a home. */
  most: number;
  homes: readonly string[];
  /** Generated from the homes. */
  generated?: readonly string[];
  /** Files of another concept with the same names. */
  others?: readonly string[];
}

const RESPONSES = 'packages/api/src/generated/response-schemas.ts';

const CONCEPTS: Record<string, Concept> = {
  'filters of a search': {
    names: FACET_NAMES,
    most: FACET_NAMES.length,
    homes: ['packages/schema/src/facets.ts', 'apps/registry/src/store/search/columns.ts'],
    generated: [RESPONSES],
  },
  'scopes of tokens': {
    names: TOKEN_SCOPES,
    most: TOKEN_SCOPES.length,
    homes: ['packages/api/src/token-scopes.ts', 'packages/catalog/src/access/can.ts'],
    generated: [],
  },
  'profiles of catalogs': {
    names: PROFILES,
    most: PROFILES.length,
    homes: ['packages/schema/src/documents/profile.ts', 'packages/catalog/src/profiles/profiles.ts'],
  },
  'error codes': {
    names: ERROR_CODES,
    most: ERROR_CODES.length,
    homes: [
      'packages/schema/src/diagnostics/error.ts',
      'packages/api/src/problem.ts',
      'apps/cli/src/io/exit-code.ts',
      'apps/registry/src/oci/routes.ts',
    ],
  },
  'kinds of runtimes': {
    names: RUNTIME_KINDS,
    most: RUNTIME_KINDS.length,
    homes: [
      'packages/schema/src/documents/runtimes.ts',
      'packages/schema/src/lint/runtimes.ts',
      'packages/catalog/src/runtimes/runtimes.ts',
      'packages/api/src/document-model.ts',
      'apps/registry/src/web/function/runtime-section.tsx',
      'apps/cli/src/function-configs/entry-runtime.ts',
      'apps/cli/src/run/prepare-entry.ts',
    ],
    generated: [RESPONSES],
    // What kustomize, kpt, and other dialects have: a runtime of krmhub is not added to them.
    others: [
      'packages/schema/src/dialects/runtime.ts',
      'packages/functions/src/plan/declared-runtime.ts',
      'packages/functions/src/plan/inline-program.ts',
      'apps/cli/src/function-configs/codes.ts',
      'apps/cli/src/kustomize/run/inline-runtimes.ts',
      'apps/cli/src/lock/plan-lock-file.ts',
      'apps/cli/src/run/prepared-function.ts',
    ],
  },
  'types of events': {
    names: EVENT_TYPES,
    most: EVENT_TYPES.length,
    homes: ['packages/schema/src/documents/event-types.ts'],
  },
};

/** Returns whether a file has a name as a string, as a key, or as a short property. */
function mentions(text: string, name: string): boolean {
  const pattern = `(['"])${name}\\1|(?<![\\w.'"-])${name}(?=:)|(?<=[{,]\\s?)${name}(?=\\s?[,}])`;
  return new RegExp(pattern).test(text);
}

describe('homes of concepts', () => {
  const sources = sourceFiles().map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }));

  it.each(Object.entries(CONCEPTS))(
    'has no other home of the %s',
    (_, { names, most, homes, generated = [], others = [] }) => {
      const found = sources
        .filter(({ text }) => names.filter((name) => mentions(text, name)).length >= most)
        .map(({ file }) => file);
      // Another concept does not get a new name.
      expect(found.filter((file) => !others.includes(file)).sort()).toEqual([...homes, ...generated].sort());
    },
  );

  it('names all of them in ARCHITECTURE.md', () => {
    const changes = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8').split(
      '### Twelve common changes',
    )[1]!;
    const { 'types of events': _, ...listed } = CONCEPTS;
    for (const home of Object.values(listed).flatMap(({ homes }) => homes))
      expect(changes).toContain(`\`${home}\``);
    expect(changes.split('## Storage')[0]!.match(/^\| An? /gm)).toHaveLength(12);
  });
});
