import type { FunctionDefinition, FunctionVersion, JsonObject, JsonValue } from '@krmhub/schema';
import { orderDefinition } from '../render/render.js';
import { catalogWriter, type ProfileDialect, type ReportUnsupported, reportConfigMap } from './profile.js';

/**
 * The profile for most examples of KEP-2906 (Proposal; stories 1, 5, 6, and 7): `runtime` is next to `versions`. API
 * versions with other runtimes are separate entries, because orchestrators use the first entry with the API version.
 */
export const kep: ProfileDialect = {
  revision: 1,
  unsupportedFields: [],
  writer: catalogWriter('catalog.yaml', entries),
};

function entries(definition: FunctionDefinition, report: ReportUnsupported): JsonObject[] {
  for (const version of definition.versions) reportConfigMap(version, report);
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

/** The fields of the first API version, in order. */
function firstRuntime(definition: FunctionDefinition): JsonValue {
  const [first] = orderDefinition(definition).versions as JsonObject[];
  return first!.runtime!;
}
