import { judgeLockedCatalog, type Lock, type LockedCatalog, type LockUse, lockKey } from '@krmhub/catalog';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { type CatalogState, type ChosenRelease, isPinned } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { lockName } from './locked-functions.js';
import type { ResolvedFunction } from './resolve-functions.js';

/**
 * Returns the entry of the lock file for a function that was just resolved. Throws `untrusted` if one of its catalogs
 * is older than the locked one, or `invalid-document` for what cannot be locked.
 */
export function freshUse(
  io: Io,
  { resolution }: Extract<ResolvedFunction, { error?: undefined }>,
  context: { order: readonly CatalogReference[]; before: Lock | undefined; folder: string },
): LockUse & { entry?: FunctionDefinition; builtFrom?: string } {
  const { order, before, folder } = context;
  const { apiVersion, kind, catalog, searched, entry, release, definition, signedBy, builtFrom, runtime } =
    resolution;
  const { snapshot: serial, range, ignoredMinAge: ignored }: Partial<ChosenRelease> = resolution.chosen ?? {};
  // What was searched before it says which catalog of the order it is.
  const names = order.slice(0, searched.length + 1).map((one) => lockName(io, one, folder));
  const name = names[searched.length];
  if (catalog === undefined || name === undefined || definition === undefined || !isPinned(runtime)) {
    throw new KrmhubError(
      'invalid-document',
      `cannot lock ${apiVersion} ${kind}: its catalog does not pin it by digest`,
    );
  }
  const states = [...searched, catalog].map((state, at) => lockedState(state, names[at]!));
  for (const state of states) refuseOlder(state, before);
  const was = before?.functions.find((fn) => lockKey(fn) === lockKey({ catalog: name, apiVersion, kind }));
  // What was recorded of this release stays true.
  const ignoredMinAge = ignored ?? (was?.definition === definition ? was.ignoredMinAge : undefined);
  const notIn = [...new Set(names.slice(0, -1))].filter((one) => one !== name);
  return {
    fn: {
      catalog: name,
      apiVersion,
      kind,
      ...defined({ serial, range, release, ignoredMinAge }),
      definition,
      ...defined({ signedBy, notIn: notIn.length === 0 ? undefined : notIn }),
      runtime,
    },
    read: states,
    ...defined({ entry, builtFrom }),
  };
}

function lockedState({ name, serial, digest, key }: CatalogState, reference: string): LockedCatalog {
  return {
    reference,
    ...defined({ name, serial, digest, key }),
  };
}

function refuseOlder(state: LockedCatalog, before: Lock | undefined): void {
  const locked = before?.catalogs.find(({ reference }) => reference === state.reference);
  const refusal = locked && judgeLockedCatalog(locked, state);
  if (refusal !== undefined) throw new KrmhubError('untrusted', refusal.message, { hint: refusal.hint });
}
