import type { FunctionDefinition, FunctionVersion, JsonObject, JsonValue } from '@krmhub/schema';
import { orderDefinition } from '../render/render.js';
import { catalogWriter, type ProfileDialect, type ReportLoss, reportConfigMap } from './profile.js';

/**
 * As most examples of KEP-2906 have it (Proposal; stories 1, 5, 6 and 7): `runtime` stands beside `versions`. API versions
 * with other runtimes become entries of their own: a reader takes the first entry that has the API version.
 */
export const kep: ProfileDialect = {
  revision: 1,
  unsupportedFields: [],
  writer: catalogWriter('catalog.yaml', entries),
};

function entries(definition: FunctionDefinition, lose: ReportLoss): JsonObject[] {
  for (const version of definition.versions) reportConfigMap(version, lose);
  const byRuntime = new Map<string, FunctionVersion[]>();
  for (const version of definition.versions) {
    const runtime = JSON.stringify(firstRuntime({ ...definition, versions: [version] }));
    byRuntime.set(runtime, [...(byRuntime.get(runtime) ?? []), version]);
  }
  return [...byRuntime.values()].map((versions) => {
    const one = { ...definition, versions };
    const { group, names, description, publisher, versions: written, ...rest } = orderDefinition(one);
    const bare = (written as JsonObject[]).map(({ runtime: _, configMap: __, ...version }) => version);
    return {
      group: group!,
      names: names!,
      description: description!,
      publisher: publisher!,
      versions: bare,
      runtime: firstRuntime(one),
      ...rest,
    };
  });
}

/** Of the first API version, its fields in order. */
function firstRuntime(definition: FunctionDefinition): JsonValue {
  const [first] = orderDefinition(definition).versions as JsonObject[];
  return first!.runtime!;
}
