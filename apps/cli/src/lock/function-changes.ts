import {
  type CatalogChange,
  type ComparedCatalog,
  compareCatalogs,
  findRules,
  type Lock,
  type LockChange,
  type LockedFunction,
  type LockUse,
  parseFunction,
} from '@krmhub/catalog';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { findDefinition } from './find-definition.js';

/** A function that is locked otherwise than before. */
export interface FunctionChange {
  type: LockChange['type'];
  apiVersion: string;
  kind: string;
  catalog: string;
  /** Releases. */
  before?: string;
  after?: string;
  /** Of a function that was locked already: what changed, in the classes of `krmhub catalog diff`. */
  changes: CatalogChange[];
  /** The definition that was locked is not available: only runtimes, releases and signers were compared. */
  isPartial: boolean;
}

/** Describes changes of a lock file; compares the definitions of what changed as far as they are available. */
export async function describeChanges(
  io: Io,
  changes: readonly LockChange[],
  context: {
    before: Lock | undefined;
    after: Lock;
    uses: readonly (LockUse & { entry?: FunctionDefinition })[];
    options: ResolverOptions;
  },
): Promise<FunctionChange[]> {
  const described: FunctionChange[] = [];
  for (const { type, apiVersion, kind, catalog, before, after } of changes) {
    const releases = defined({ before: before?.release, after: after?.release });
    const base = { type, apiVersion, kind, catalog, ...releases };
    if (before === undefined || after === undefined) {
      described.push({ ...base, changes: [], isPartial: false });
      continue;
    }
    const use = context.uses.find(
      ({ fn }) => fn.catalog === catalog && fn.apiVersion === apiVersion && fn.kind === kind,
    );
    const now = use?.entry;
    const was = now && (await findDefinition(io, before, context.before, context.options));
    const isPartial = was === undefined || now === undefined;
    const entries = isPartial ? [] : compareCatalogs(lockedCatalog(before, was), lockedCatalog(after, now));
    // Where an entry names a tag, only what was locked says that the image changed.
    const compared = entries.length > 0 ? entries : compareCatalogs(pinned(before), pinned(after));
    described.push({ ...base, changes: compared, isPartial });
  }
  return described;
}

/** A catalog with the one API version that is locked. */
function lockedCatalog(fn: LockedFunction, definition: FunctionDefinition): ComparedCatalog {
  const { group, kind, version } = parseFunction(fn);
  const { release, definition: digest, signedBy } = fn;
  return {
    functions: [{ ...definition, versions: definition.versions.filter(({ name }) => name === version) }],
    entries: [
      {
        group,
        kind,
        versions: [
          {
            name: version,
            source: 'lock',
            definition: digest,
            ...defined({ release, signedBy }),
          },
        ],
      },
    ],
  };
}

/** What a lock alone says of a function: everything else is the same in both. */
function pinned(fn: LockedFunction): ComparedCatalog {
  const { group, kind, version } = parseFunction(fn);
  return lockedCatalog(fn, {
    group,
    names: { kind },
    description: '',
    publisher: '',
    versions: [
      {
        name: version,
        schema: { openAPIV3Schema: { type: 'object' } },
        idempotent: false,
        runtime: declareRuntime(fn),
        usage: '',
        examples: [],
        license: '',
      },
    ],
  });
}

function declareRuntime({ runtime }: LockedFunction): FunctionVersion['runtime'] {
  return { [runtime.type]: findRules(runtime).declare(runtime) };
}
