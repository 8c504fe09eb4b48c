/**
 * Compares definitions and catalogs by meaning, and finds the changes that break existing functionConfigs.
 *
 * @module
 */

import {
  compareApiVersions,
  type FunctionDefinition,
  type FunctionVersion,
  formatPath,
  type JsonValue,
  type Path,
  RUNTIME_KINDS,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { formatValue } from '@krmhub/schema/diagnostics/format-value';
import { eachRuntime } from '../runtimes/runtimes.js';
import { canonicalContent } from './content.js';
import { type Change, COMPATIBILITY_RULES, type Effect, type Report } from './rules.js';
import { compareSchemas } from './schema.js';

export type { Change, CompatibilityRule, Effect } from './rules.js';
export { COMPATIBILITY_RULES } from './rules.js';

/** The effects, most severe first. */
export const EFFECTS = ['breaking', 'review', 'compatible'] as const satisfies readonly Effect[];

const DOCUMENTATION = ['description', 'home', 'maintainers', 'tags'] as const;
const VERSION_DOCUMENTATION = ['usage', 'examples', 'maintainers'] as const;

/**
 * Compares two definitions of a function by meaning: breaking changes first, then changes to review, then compatible
 * changes. Takes linear time.
 */
export function compareDefinitions(before: FunctionDefinition, after: FunctionDefinition): Change[] {
  const changes: Change[] = [];
  const reporter =
    (version?: string): Report =>
    (rule, at, message) => {
      const { effect } = COMPATIBILITY_RULES[rule];
      changes.push({
        rule,
        effect,
        ...defined({ version }),
        path: formatPath(at),
        at,
        message,
      });
    };
  compareFunctions(before, after, reporter());
  compareVersions(before, after, reporter);
  return EFFECTS.flatMap((effect) => changes.filter((change) => change.effect === effect));
}

/** Reports whether an API version is alpha, and can change in any way (Kubernetes, "API versioning"). */
export function isAlphaVersion(name: string): boolean {
  return /^v\d+alpha\d+$/.test(name);
}

function compareFunctions(before: FunctionDefinition, after: FunctionDefinition, report: Report): void {
  const [was, is] = [before, after].map(({ group, names }) => `${group}/${names.kind}`);
  if (was !== is) {
    const at = before.group === after.group ? ['spec', 'names', 'kind'] : ['spec', 'group'];
    report('function-renamed', at, `the function name changed from ${was} to ${is}`);
  }
  if (before.publisher !== after.publisher) {
    const message = `the publisher changed from ${formatValue(before.publisher)} to ${formatValue(after.publisher)}`;
    report('publisher-changed', ['spec', 'publisher'], message);
  }
  reportDocumentation(before, after, DOCUMENTATION, ['spec'], report);
}

function compareVersions(
  before: FunctionDefinition,
  after: FunctionDefinition,
  reporter: (version: string) => Report,
): void {
  const old = new Map(before.versions.map((version) => [version.name, version]));
  const now = new Set(after.versions.map(({ name }) => name));
  for (const name of old.keys()) {
    if (now.has(name)) continue;
    const rule = isAlphaVersion(name) ? 'alpha-version-removed' : 'version-removed';
    reporter(name)(rule, ['spec', 'versions'], `the API version ${name} is removed`);
  }
  for (const [index, version] of after.versions.entries()) {
    const at = ['spec', 'versions', index];
    const report = reporter(version.name);
    const was = old.get(version.name);
    if (was === undefined) reportAddedVersion(before, version, at, report);
    else {
      compareSchemas(
        was.schema.openAPIV3Schema,
        version.schema.openAPIV3Schema,
        [...at, 'schema', 'openAPIV3Schema'],
        report,
      );
      compareRuntimes(was, version, at, report);
      reportDocumentation(was, version, VERSION_DOCUMENTATION, at, report);
    }
  }
}

/** A new API version has no earlier schema. Its permissions are compared with the previously preferred API version. */
function reportAddedVersion(
  before: FunctionDefinition,
  version: FunctionVersion,
  at: Path,
  report: Report,
): void {
  report('version-added', at, `the API version ${version.name} is added`);
  const [preferred] = [...before.versions].sort((a, b) => compareApiVersions(a.name, b.name));
  if (preferred === undefined) return;
  compareRuntimes(preferred, version, at, (rule, place, message) => {
    if (COMPATIBILITY_RULES[rule].effect === 'review') {
      report(rule, place, `${message} (compared with ${preferred.name})`);
    }
  });
}

function reportDocumentation<Name extends string>(
  before: { [Key in Name]?: JsonValue | undefined },
  after: { [Key in Name]?: JsonValue | undefined },
  names: readonly Name[],
  at: Path,
  report: Report,
): void {
  for (const name of names) {
    if (canonicalContent(before[name]) === canonicalContent(after[name])) continue;
    const place = after[name] === undefined ? at : [...at, name];
    report('documentation-changed', place, `${name} changed`);
  }
}

/** Compares two API versions without their schemas. `at` is the position of the new one. */
function compareRuntimes(before: FunctionVersion, after: FunctionVersion, at: Path, report: Report): void {
  const runtime = [...at, 'runtime'];
  for (const kind of RUNTIME_KINDS) {
    const [was, is] = [before.runtime[kind] !== undefined, after.runtime[kind] !== undefined];
    if (was === is) continue;
    report('runtime-changed', is ? [...runtime, kind] : runtime, `${kind} is ${is ? 'added' : 'removed'}`);
  }
  eachRuntime(after.runtime, (rules, declared, kind) => {
    rules.compare(before.runtime[kind], declared, [...runtime, kind], report);
  });
  if (before.license !== after.license) {
    const message = `the license changed from ${formatValue(before.license)} to ${formatValue(after.license)}`;
    report('license-changed', [...at, 'license'], message);
  }
  if (before.idempotent !== after.idempotent) {
    report(
      after.idempotent ? 'idempotent-added' : 'idempotent-removed',
      [...at, 'idempotent'],
      `the function is ${after.idempotent ? 'now' : 'no longer'} idempotent`,
    );
  }
  const [took, takes] = [before.configMap === true, after.configMap === true];
  if (took !== takes) {
    report(
      takes ? 'config-map-added' : 'config-map-removed',
      takes ? [...at, 'configMap'] : at,
      `a ConfigMap is ${takes ? 'now' : 'no longer'} accepted as functionConfig`,
    );
  }
}
