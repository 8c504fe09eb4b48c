import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';

/**
 * Returns what the functionConfigs of one API version are checked with, without the rest of a definition: that is stored
 * where the catalog is not read again. Undefined if the definition does not have the version.
 */
export function checkedVersion(
  { group, names, versions }: CheckedDefinition,
  apiVersion: string,
): CheckedDefinition | undefined {
  const version = versions.find((one) => apiVersion === `${group}/${one.name}`);
  if (version === undefined) return undefined;
  const { name, schema } = version;
  return { group, names, versions: [{ name, schema }] };
}
