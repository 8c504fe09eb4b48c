import type { FunctionDefinition } from '@krmhub/schema';
import { sha256 } from '@krmhub/schema';
import { CHANGE_KINDS, type ChangeKind } from '@krmhub/schema/documents/change-kinds';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { CATALOG_CHANGE_CLASSES } from './catalogs/classes.js';
import { changeKinds } from './change-kinds.js';
import { type CatalogChangeClass, type ComparedCatalog, compareCatalogs } from './compare-catalogs.js';

/** What a random release is made of; each fact has its own kind of change. */
interface Facts {
  fields: string[];
  required: boolean;
  network: boolean;
  storage: boolean;
  host: string;
  digest: string;
  signer: string;
  license: string;
  description: string;
}

function randomFacts(random: Random, like?: Facts): Facts {
  const fresh: Facts = {
    fields: random.some(['a', 'b', 'c'], 0.6),
    required: random.chance(0.5),
    network: random.chance(0.5),
    storage: random.chance(0.5),
    host: random.pick(['one.example.com', 'two.example.com']),
    digest: random.pick(['1', '2']).repeat(64),
    signer: random.pick(['a key', 'another key']),
    license: random.pick(['MIT', 'Apache-2.0']),
    description: random.pick(['Sets labels', 'Sets all labels']),
  };
  if (like === undefined) return fresh;
  const kept = random.some(Object.keys(fresh) as (keyof Facts)[], 0.8);
  return { ...fresh, ...Object.fromEntries(kept.map((name) => [name, like[name]])) };
}

function catalogOf(facts: Facts, release: string): ComparedCatalog {
  const properties = Object.fromEntries(facts.fields.map((name) => [name, { type: 'string' as const }]));
  const definition: FunctionDefinition = functionDefinition({
    description: facts.description,
    versions: [
      functionVersion('v1', {
        license: facts.license,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { ...properties, always: { type: 'string' } },
            ...(facts.required && { required: ['always'] }),
          },
        },
        runtime: {
          container: {
            image: `${facts.host}/set-labels:v1`,
            sha256: facts.digest,
            requireNetwork: facts.network,
            requireStorageMount: facts.storage,
          },
        },
      }),
    ],
  });
  const { group, names } = definition;
  const version = { name: 'v1', source: 'ours', release, signedBy: facts.signer };
  const entry = { group, kind: names.kind, versions: [{ ...version, definition: sha256(release) }] };
  return { functions: [definition], entries: [entry] };
}

/** The kinds of what differs, from the facts alone. */
function expectedKinds(was: Facts, is: Facts): ChangeKind[] {
  const lost = was.fields.some((name) => !is.fields.includes(name));
  const added = is.fields.some((name) => !was.fields.includes(name));
  const found: Record<ChangeKind, boolean> = {
    breaking: lost || (is.required && !was.required),
    'new-permission': (is.network && !was.network) || (is.storage && !was.storage),
    'other-signer': is.signer !== was.signer,
    'other-registry': is.host !== was.host,
    review: is.license !== was.license,
    'new-field': added,
    patch: false,
  };
  const kinds = (Object.keys(CHANGE_KINDS) as ChangeKind[]).filter((kind) => found[kind]);
  // The releases differ, at least.
  return kinds.length === 0 ? ['patch'] : kinds;
}

describe('changeKinds', () => {
  it('says what random releases change, and agrees with the classes of compareCatalogs', () => {
    const seen = new Set<ChangeKind>();
    for (let seed = 0; seed < 600; seed++) {
      const random = new Random(seed);
      const was = randomFacts(random);
      const is = randomFacts(random, was);
      const changes = compareCatalogs(catalogOf(was, '1.0.0'), catalogOf(is, '1.1.0'));
      const kinds = changeKinds(changes);
      expect(kinds, `seed ${seed}`).toEqual(expectedKinds(was, is));
      expect(kinds.includes('breaking')).toBe(changes.some(({ weight }) => weight === 'breaking'));
      // In any order.
      expect(changeKinds(random.shuffled(changes))).toEqual(kinds);
      for (const kind of kinds) seen.add(kind);
    }
    expect(seen.size).toBe(Object.keys(CHANGE_KINDS).length);
  });

  it('never makes a change that is to review, or breaks something, a patch', () => {
    for (const [name, { weight }] of Object.entries(CATALOG_CHANGE_CLASSES)) {
      const [kind] = changeKinds([{ class: name as CatalogChangeClass }]);
      expect([name, kind === 'breaking']).toEqual([name, weight === 'breaking']);
      expect([name, kind === 'patch' || kind === 'new-field']).toEqual([name, weight === 'quiet']);
    }
    expect(changeKinds([])).toEqual([]);
  });
});
