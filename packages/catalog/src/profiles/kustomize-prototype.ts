import type { FunctionDefinition, FunctionVersion, JsonObject } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { orderDefinition } from '../render/render.js';
import { readImage } from '../runtimes/container.js';
import { unsupportedRuntimes } from '../runtimes/runtimes.js';
import {
  catalogWriter,
  omitFunction,
  type ProfileDialect,
  type ReportUnsupported,
  reportConfigMap,
  reportRuntime,
} from './profile.js';

/**
 * The profile for the catalog prototype in kustomize (kustomize#5507, with the runtimes of kyaml 0.16). It rejects
 * unknown fields, so one unsupported field would invalidate the whole catalog.
 */
export const kustomizePrototype: ProfileDialect = {
  revision: 1,
  unsupportedFields: [],
  writer: catalogWriter('catalog.yaml', entries),
};

function entries(definition: FunctionDefinition, report: ReportUnsupported): JsonObject[] {
  const versions = definition.versions.filter((version) => isSupported(version, report));
  if (versions.length === 0) return omitFunction(report);
  const entry = orderDefinition({ ...definition, versions });
  const written = entry.versions as JsonObject[];
  return [
    { ...entry, versions: written.map((version, index) => restrictToPrototype(version, versions[index]!)) },
  ];
}

function isSupported(version: FunctionVersion, report: ReportUnsupported): boolean {
  const { container } = version.runtime;
  const others = unsupportedRuntimes(version, 'kustomize');
  if (container === undefined) {
    report({ version: version.name, message: `omitted: ${others[0]?.message}` });
    return false;
  }
  const reportField = reportRuntime(report, version.name);
  for (const { kind, message } of others) reportField(kind, message);
  if (container.requireStorageMount === true) {
    reportField(
      'container.requireStorageMount',
      'the prototype has mounts with paths, but no field for a required mount',
    );
  }
  reportConfigMap(version, report);
  return true;
}

/** `network` requests access, and a flag grants it, as for `requireNetwork`. */
function restrictToPrototype(
  { configMap: _, ...version }: JsonObject,
  { runtime }: FunctionVersion,
): JsonObject {
  const container = runtime.container!;
  const { image } = container;
  const digest = readImage(container)?.digest;
  return {
    ...version,
    runtime: {
      container: {
        image: digest === undefined || image.includes('@') ? image : `${image}@${digest}`,
        ...defined({ network: container.requireNetwork === true ? true : undefined }),
      },
    },
  };
}
