import {
  type CatalogChange,
  type ComparedCatalog,
  compareCatalogs,
  findRules,
  type Lock,
  type LockChange,
  type LockedFunction,
  type LockedFunctions,
  lockKey,
  oneVersion,
  parseFunction,
} from '@krmhub/catalog';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { findDefinition, findSigned } from './find-definition.js';
import type { LockedUse } from './resolve-uses.js';

/** A function that is locked otherwise than before. */
export interface FunctionChange {
  type: LockChange['type'];
  apiVersion: string;
  kind: string;
  catalog: string;
  /** Releases. */
  before?: string;
  after?: string;
  /** In words, before and after; absent where neither is known. */
  signedBy?: BeforeAndAfter;
  builtFrom?: BeforeAndAfter;
  /** Of a function that was locked already: what changed, in the classes of `krmhub catalog diff`. */
  changes: CatalogChange[];
  /** The definition that was locked is not available: only runtimes, releases and signers were compared. */
  isPartial: boolean;
}

/** Absent where it is not known. */
export interface BeforeAndAfter {
  before?: string;
  after?: string;
}

/** Describes changes of a lock file; compares the definitions of what changed as far as they are available. */
export async function describeChanges(
  io: Io,
  changes: readonly LockChange[],
  context: {
    before: Lock | undefined;
    /** The same, for a lock file in this folder. */
    locked: LockedFunctions | undefined;
    folder: string;
    after: Lock;
    uses: readonly LockedUse[];
    options: ResolverOptions;
  },
): Promise<FunctionChange[]> {
  const described: FunctionChange[] = [];
  for (const { type, apiVersion, kind, catalog, before, after } of changes) {
    const releases = defined({ before: before?.release, after: after?.release });
    const base = { type, apiVersion, kind, catalog, ...releases };
    const use = context.uses.find(({ fn }) => lockKey(fn) === lockKey({ catalog, apiVersion, kind }));
    if (before === undefined || after === undefined) {
      described.push({ ...base, ...describeSigners(before, after, use), changes: [], isPartial: false });
      continue;
    }
    const now = use?.entry;
    const was = now && (await findDefinition(io, before, context.before, context.options));
    const { locked: lock } = context;
    const signed = lock && (await findSigned(io, before, { ...context, lock }));
    // A policy refuses the locked snapshot, which does not name its releases.
    const schemas = [findSchema(before, was ?? signed?.declared), findSchema(after, now)];
    const isPartial = schemas.includes(undefined);
    const isWhole = was !== undefined && now !== undefined;
    const entries = isWhole ? compareCatalogs(lockedCatalog(before, was), lockedCatalog(after, now)) : [];
    // Where an entry names a tag, only what was locked says that the image changed.
    const compared = entries.length > 0 ? entries : comparePinned(before, after, isPartial ? [] : schemas);
    const signers = describeSigners({ ...before, ...signed }, after, use);
    described.push({ ...base, ...signers, changes: compared, isPartial });
  }
  return described;
}

/** The lock has the signer, and only what was resolved now, where it was built. */
function describeSigners(
  before: (LockedFunction & { builtFrom?: string }) | undefined,
  after: LockedFunction | undefined,
  use: LockedUse | undefined,
): Pick<FunctionChange, 'signedBy' | 'builtFrom'> {
  const both = (was: string | undefined, is: string | undefined) =>
    was === undefined && is === undefined ? undefined : defined({ before: was, after: is });
  return defined({
    signedBy: both(before?.signedBy, after?.signedBy),
    builtFrom: both(before?.builtFrom, after && use?.builtFrom),
  });
}

/** Compares what locks alone say of a function: runtimes, releases, and signers; and schemas, if both are known. */
export function comparePinned(
  before: LockedFunction,
  after: LockedFunction,
  [was, is]: readonly (Schema | undefined)[] = [],
): CatalogChange[] {
  return compareCatalogs(pinned(before, was), pinned(after, is));
}

/** A catalog with the one API version that is locked. */
function lockedCatalog(fn: LockedFunction, definition: FunctionDefinition): ComparedCatalog {
  const { release, definition: digest, signedBy } = fn;
  return oneVersion(definition, parseFunction(fn).version, {
    definition: digest,
    ...defined({ release, signedBy }),
  });
}

type Schema = FunctionVersion['schema'];

function findSchema(fn: LockedFunction, definition: CheckedDefinition | undefined): Schema | undefined {
  const { version } = parseFunction(fn);
  return definition?.versions.find(({ name }) => name === version)?.schema;
}

/** What a lock alone says of a function: everything else is the same in both. */
function pinned(
  fn: LockedFunction,
  schema: Schema = { openAPIV3Schema: { type: 'object' } },
): ComparedCatalog {
  const { group, kind, version } = parseFunction(fn);
  return lockedCatalog(fn, {
    group,
    names: { kind },
    description: '',
    publisher: '',
    versions: [
      {
        name: version,
        schema,
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
