import {
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  offersLicense,
} from '@krmhub/schema';
import { definitionInOrder } from '../render/render.js';
import { catalogWriter, type Lose, loseConfigMap, loseFunction, type ProfileDialect } from './profile.js';

/**
 * What the OpenAPI schema of KEP-2906 takes, its faults with it: one licence, spelt its way, no Starlark, and `platform`
 * beside `exec.platforms`, since it requires the one and describes the other.
 */
export const kepSchema: ProfileDialect = {
  revision: 1,
  unsaid: [],
  writer: catalogWriter('krmfunctioncatalog.yaml', entries),
};

/** SPDX's name of the only licence of the schema. */
const LICENSE = 'Apache-2.0';
const LICENSE_AS_WRITTEN = 'Apache 2.0';

function entries(definition: FunctionDefinition, lose: Lose): JsonObject[] {
  const versions = definition.versions.filter((version) => canBeSaid(version, lose));
  if (versions.length === 0) return loseFunction(lose);
  const entry = definitionInOrder({ ...definition, versions });
  return [{ ...entry, versions: (entry.versions as JsonObject[]).map(withinSchema) }];
}

function canBeSaid(version: FunctionVersion, lose: Lose): boolean {
  const { name, license, runtime } = version;
  if (!offersLicense(license, LICENSE)) {
    lose({
      version: name,
      message: `is left out: the schema takes no other license than "${LICENSE_AS_WRITTEN}", and this is ${license}`,
    });
    return false;
  }
  if (runtime.container === undefined && runtime.exec === undefined) {
    lose({ version: name, message: 'is left out: its only runtime is Starlark, which the schema has not' });
    return false;
  }
  if (license !== LICENSE) {
    lose({
      version: name,
      field: 'license',
      message: `the schema takes no choice: "${LICENSE_AS_WRITTEN}" stands for ${license}`,
    });
  }
  if (runtime.starlark !== undefined) {
    lose({ version: name, field: 'runtime.starlark', message: 'the schema has no Starlark' });
  }
  loseConfigMap(version, lose);
  return true;
}

function withinSchema({ configMap: _, ...version }: JsonObject): JsonObject {
  const { container, exec } = version.runtime as { container?: JsonObject; exec?: JsonObject };
  return {
    ...version,
    license: LICENSE_AS_WRITTEN,
    runtime: {
      ...(container === undefined ? {} : { container }),
      ...(exec === undefined ? {} : { exec: { ...exec, platform: exec.platforms! } }),
    },
  };
}
