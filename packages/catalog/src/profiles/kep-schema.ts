import {
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  permitsLicense,
} from '@krmhub/schema';
import { orderDefinition } from '../render/render.js';
import {
  catalogWriter,
  omitFunction,
  type ProfileDialect,
  type ReportLoss,
  reportConfigMap,
} from './profile.js';

/**
 * What the OpenAPI schema of KEP-2906 takes, its faults with it: one license, spelled its way, no Starlark, and `platform`
 * beside `exec.platforms`, since it requires the one and describes the other.
 */
export const kepSchema: ProfileDialect = {
  revision: 1,
  unsupportedFields: [],
  writer: catalogWriter('krmfunctioncatalog.yaml', entries),
};

/** SPDX's name of the only license of the schema. */
const SPDX_LICENSE = 'Apache-2.0';
const SCHEMA_LICENSE = 'Apache 2.0';

function entries(definition: FunctionDefinition, lose: ReportLoss): JsonObject[] {
  const versions = definition.versions.filter((version) => isSupported(version, lose));
  if (versions.length === 0) return omitFunction(lose);
  const entry = orderDefinition({ ...definition, versions });
  return [{ ...entry, versions: (entry.versions as JsonObject[]).map(restrictToSchema) }];
}

function isSupported(version: FunctionVersion, lose: ReportLoss): boolean {
  const { name, license, runtime } = version;
  if (!permitsLicense(license, SPDX_LICENSE)) {
    lose({
      version: name,
      message: `omitted: the schema allows only the license "${SCHEMA_LICENSE}", not ${license}`,
    });
    return false;
  }
  if (runtime.container === undefined && runtime.exec === undefined) {
    lose({
      version: name,
      message: 'omitted: its only runtime is Starlark, which the schema does not allow',
    });
    return false;
  }
  if (license !== SPDX_LICENSE) {
    lose({
      version: name,
      field: 'license',
      message: `"${SCHEMA_LICENSE}" replaces ${license}: the schema allows no other license`,
    });
  }
  if (runtime.starlark !== undefined) {
    lose({ version: name, field: 'runtime.starlark', message: 'the schema does not support Starlark' });
  }
  reportConfigMap(version, lose);
  return true;
}

function restrictToSchema({ configMap: _, ...version }: JsonObject): JsonObject {
  const { container, exec } = version.runtime as { container?: JsonObject; exec?: JsonObject };
  return {
    ...version,
    license: SCHEMA_LICENSE,
    runtime: {
      ...(container === undefined ? {} : { container }),
      ...(exec === undefined ? {} : { exec: { ...exec, platform: exec.platforms! } }),
    },
  };
}
