import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { SearchedFunction } from './search-context.js';

/** No catalog has a function: every catalog that was searched could be read. */
export class UnresolvedFunction extends KrmhubError {
  constructor(
    { apiVersion, kind, isBelowCatalogs }: SearchedFunction,
    plan: { searched: string[]; near: string[] },
  ) {
    const { searched, near } = plan;
    const isUnset = searched.length === 0;
    const none = isBelowCatalogs
      ? 'its kustomization sets no catalog, and those of an overlay do not apply to its bases'
      : 'no catalog is set';
    const where = isUnset ? none : `not found in ${searched.join(', ')}`;
    const hint =
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : isUnset
          ? `${isBelowCatalogs ? 'Add `catalogs:` to that kustomization, or set' : 'Set'} a catalog of your registry, a URL, or a file, for example: --catalog default`
          : 'Check apiVersion and kind, or set another catalog with --catalog.';
    super('not-found', escapeControls(`cannot resolve ${apiVersion} ${kind}: ${where}`), {
      hint: escapeControls(hint),
    });
  }
}

/** Reports whether every searched catalog could be read, and none has the function. */
export function isUnresolved(error: unknown): boolean {
  return error instanceof UnresolvedFunction;
}

/** The error of a catalog that is needed and cannot be used, with what it is needed for. */
export function catalogError(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  reference: string,
  error: KrmhubError,
): KrmhubError {
  const { code, hint, diagnostics, message } = error;
  // What is wrong with the catalog itself names it already.
  const catalog = message.startsWith(`catalog ${reference}`) ? '' : `catalog ${reference}: `;
  return new KrmhubError(code, escapeControls(`cannot resolve ${apiVersion} ${kind}: ${catalog}${message}`), {
    ...defined({ hint }),
    diagnostics,
    cause: error,
  });
}

/** The registry of an image is unreachable. The catalog with the image is not the cause. */
export class ImageError extends KrmhubError {
  constructor(what: string, cause: KrmhubError) {
    const { code, message, hint, diagnostics } = cause;
    super(code, `${what}: ${message}`, { ...defined({ hint }), diagnostics, cause });
  }
}

/** The error of an image that is needed, with what it is needed for. */
export function imageError(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  error: ImageError,
): KrmhubError {
  const { code, hint, diagnostics } = error;
  return new KrmhubError(code, escapeControls(`cannot resolve ${apiVersion} ${kind}: ${error.message}`), {
    ...defined({ hint }),
    diagnostics,
    cause: error,
  });
}
