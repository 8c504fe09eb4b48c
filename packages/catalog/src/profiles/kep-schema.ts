import {
  type ExecPlatform,
  type ExecRuntime,
  type FunctionDefinition,
  type FunctionRuntime,
  type FunctionVersion,
  type JsonObject,
  permitsLicense,
  RUNTIME_KINDS,
  RUNTIMES,
  type RuntimeKind,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { orderDefinition } from '../render/render.js';
import {
  catalogWriter,
  omitFunction,
  type ProfileDialect,
  type ReportUnsupported,
  reportConfigMap,
} from './profile.js';

/**
 * The profile for the OpenAPI schema of KEP-2906, including its errors: only one license in its own spelling, no
 * Starlark, and `platform` next to `exec.platforms`, because it requires one and describes the other.
 */
export const kepSchema: ProfileDialect = {
  revision: 1,
  unsupportedFields: [],
  writer: catalogWriter('krmfunctioncatalog.yaml', entries),
};

/** SPDX identifier of the only license in the schema. */
const SPDX_LICENSE = 'Apache-2.0';
const SCHEMA_LICENSE = 'Apache 2.0';
/** The runtimes of the schema. */
const SUPPORTED: Partial<Record<RuntimeKind, true>> = { container: true, exec: true };

function entries(definition: FunctionDefinition, report: ReportUnsupported): JsonObject[] {
  const versions = definition.versions.filter((version) => isSupported(version, report));
  if (versions.length === 0) return omitFunction(report);
  const entry = orderDefinition({ ...definition, versions });
  return [{ ...entry, versions: (entry.versions as JsonObject[]).map(restrictToSchema) }];
}

function isSupported(version: FunctionVersion, report: ReportUnsupported): boolean {
  const { name, license, runtime } = version;
  if (!permitsLicense(license, SPDX_LICENSE)) {
    report({
      version: name,
      message: `omitted: the schema allows only the license "${SCHEMA_LICENSE}", not ${license}`,
    });
    return false;
  }
  const exec = verifiedPlatforms(runtime.exec);
  const others = RUNTIME_KINDS.filter((kind) => !(kind in SUPPORTED) && runtime[kind] !== undefined);
  if (runtime.container === undefined && exec.length === 0) {
    const message =
      runtime.exec === undefined
        ? `omitted: the schema does not allow ${others[0] && RUNTIMES[others[0]].name}, its only runtime`
        : 'omitted: the schema requires sha256 for executables';
    report({ version: name, message });
    return false;
  }
  if (exec.length < (runtime.exec?.platforms.length ?? 0)) {
    report({
      version: name,
      field: 'runtime.exec.platforms',
      message: 'executables without sha256 are omitted: the schema requires it',
    });
  }
  if (license !== SPDX_LICENSE) {
    report({
      version: name,
      field: 'license',
      message: `"${SCHEMA_LICENSE}" replaces ${license}: the schema allows no other license`,
    });
  }
  for (const kind of others) {
    const message = `the schema does not support ${RUNTIMES[kind].name}`;
    report({ version: name, field: `runtime.${kind}`, message });
  }
  reportConfigMap(version, report);
  return true;
}

/** Executables with a `sha256` field. Others have the digest in the URI. */
function verifiedPlatforms(exec: ExecRuntime | undefined): ExecPlatform[] {
  return exec?.platforms.filter(({ sha256 }) => sha256 !== undefined) ?? [];
}

function restrictToSchema({ configMap: _, ...version }: JsonObject): JsonObject {
  const { container, exec } = version.runtime as unknown as FunctionRuntime;
  const platforms = verifiedPlatforms(exec).map((platform) => ({ ...platform }) as unknown as JsonObject);
  return {
    ...version,
    license: SCHEMA_LICENSE,
    runtime: defined({
      container: container === undefined ? undefined : { ...container },
      exec: platforms.length === 0 ? undefined : { platforms, platform: platforms },
    }),
  };
}
