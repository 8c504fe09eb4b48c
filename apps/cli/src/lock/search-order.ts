import type { LockedFunctions } from '@krmhub/catalog';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import type { FunctionRequest, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { type Layer, type ListedFunction, listFunctions } from '../function-configs/layers.js';

/** The catalogs that a resolver searches for a request, in order. */
export function searchOrder(
  { cwd }: WorkingFolder,
  { official, catalogs }: ResolverOptions,
  request: FunctionRequest,
): CatalogReference[] {
  const named = [...(official === undefined ? [] : [official]), ...catalogs];
  return [...named.map((text) => ({ text, folder: cwd })), ...request.catalogs];
}

/**
 * The functions of a package. A Kptfile need not name its catalogs: without them, those that its functions were locked
 * in are searched again.
 */
export function packageFunctions(layer: Layer, lock: LockedFunctions | undefined): ListedFunction[] {
  const steps = new Set(kptSteps(layer));
  return listFunctions(layer).map((listed) => {
    const { request } = listed;
    const needsLock = request.inline === undefined && request.catalogs.length === 0;
    if (lock === undefined || !needsLock || !steps.has(listed)) return listed;
    return {
      ...listed,
      request: { ...request, catalogs: lock.searchOrder(request.apiVersion, request.kind) },
    };
  });
}

function kptSteps({ type, functions, layers }: Layer): ListedFunction[] {
  const below = layers.flatMap(kptSteps);
  return type === 'kptfile' ? [...functions, ...below] : below;
}
