import type { Lock, LockedFunction, LockedFunctions } from '@krmhub/catalog';
import { parseCatalog } from '@krmhub/consume/references/parse-catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { hasTrustFile } from '@krmhub/consume/trust/has-trust-file';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { consumePorts } from '../registry/consume-ports.js';

/**
 * Finds the definition that is locked: in the snapshot in which it was found, which its registry keeps, or which is in
 * the cache. Undefined if it is not available. It is only compared, and never runs.
 */
export async function findDefinition(
  io: Io,
  fn: LockedFunction,
  lock: Lock | undefined,
  { offline, runtime }: ResolverOptions,
): Promise<FunctionDefinition | undefined> {
  const serial = fn.serial ?? lock?.catalogs.find(({ reference }) => reference === fn.catalog)?.serial;
  const { registry } = parseCatalog(io, { text: fn.catalog, folder: io.cwd });
  if (serial === undefined || registry === undefined) return undefined;
  const snapshot = `${registry.url}/catalogs/${registry.name}/snapshots/${serial}/catalog.yaml`;
  const resolver = await openResolver(consumePorts(io), {
    catalogs: [snapshot],
    trustedCatalogs: [],
    offline,
    ...defined({ runtime }),
  });
  try {
    const { apiVersion, kind } = fn;
    const found = await resolver.resolve({ apiVersion, kind, catalogs: [] });
    return isLocked(fn, found) ? found.entry : undefined;
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  } finally {
    await resolver.close();
  }
}

/**
 * Finds who signed the release of a locked function, and its schema, if this user has signing policies. Undefined if the
 * function could not be used any more as it is locked.
 */
export async function findSigned(
  io: Io,
  { apiVersion, kind, catalog }: LockedFunction,
  { lock, folder, options }: { lock: LockedFunctions; folder: string; options: ResolverOptions },
): Promise<Pick<Resolution, 'signedBy' | 'builtFrom' | 'declared'> | undefined> {
  if (!(await hasTrustFile(io))) return undefined;
  const resolver = await openResolver(consumePorts(io), { ...options, lock });
  try {
    return await resolver.resolve({ apiVersion, kind, catalogs: [{ text: catalog, folder }] });
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  } finally {
    await resolver.close();
  }
}

/** A catalog without its `snapshot.json` does not say which release an entry is; then what it runs decides. */
function isLocked({ definition, runtime }: LockedFunction, found: Resolution): boolean {
  return definition === found.definition || runsText(runtime) === runsText(found.runtime);
}

/** What runs, without the platforms of an image, which are asked for only where a function is locked. */
function runsText(runtime: Resolution['runtime']): string {
  return runtime.type === 'container' ? runtime.image : JSON.stringify(runtime);
}
