import { compareText } from '@krmhub/schema/compare-text';

/** A folder whose functions belong to the folder above it. */
const FUNCTIONS_FOLDER = 'functions';
/** A resource with its place, relative to the folder that is run, with `/`. */
export interface PlacedConfig {
  readonly path: string;
  readonly index: number;
}

/** The folder whose resources, and those below it, a function gets: its own; empty for the folder that is run. */
export function functionScope({ path }: { readonly path: string }): string {
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  if (folder === FUNCTIONS_FOLDER) return '';
  return folder.endsWith(`/${FUNCTIONS_FOLDER}`) ? folder.slice(0, -FUNCTIONS_FOLDER.length - 1) : folder;
}

/**
 * Reports whether a resource is in the scope of a function. kyaml compares the text, so `foo` there has `foobar` too.
 */
export function isInScope(resource: { readonly path: string }, scope: string): boolean {
  if (scope === '') return true;
  // A resource that a function generated has no file, and no scope.
  if (resource.path === '') return false;
  const folder = functionScope(resource);
  return folder === scope || folder.startsWith(`${scope}/`);
}

/**
 * Sorts functions in the order in which they run: the deepest folder first, then by folder, file, and place in the
 * file.
 */
export function runOrder<Config extends PlacedConfig>(configs: readonly Config[]): Config[] {
  const key = (config: Config) => {
    const scope = functionScope(config);
    return { config, scope, depth: scope === '' ? 0 : scope.split('/').length };
  };
  return configs
    .map(key)
    .sort(
      (a, b) =>
        b.depth - a.depth ||
        compareText(a.scope, b.scope) ||
        compareText(a.config.path, b.config.path) ||
        a.config.index - b.config.index,
    )
    .map(({ config }) => config);
}
