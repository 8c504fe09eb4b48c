import type { FunctionName } from '@krmhub/schema';

/** Returns the repository of the releases of a function in a krmhub registry. Its tags are the releases. */
export function functionRepository({ group, kind }: FunctionName): string {
  return `functions/${group}/${kind.toLowerCase()}`;
}

/** Returns the function that a repository of a krmhub registry belongs to, with its kind in lower case. */
export function parseFunctionRepository(repository: string): FunctionName | undefined {
  const [, group, kind] = /^functions\/([^/]+)\/([^/]+)$/.exec(repository) ?? [];
  return group === undefined || kind === undefined ? undefined : { group, kind };
}
