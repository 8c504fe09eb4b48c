import { type FunctionVersion, type Path, RUNTIME_KINDS } from '@krmhub/schema';
import { formatValue } from '@krmhub/schema/diagnostics/format-value';
import { eachRuntime } from '../runtimes/runtimes.js';
import type { Report } from './rules.js';

/** Compares two API versions without their schemas. `at` is the position of the new one. */
export function compareRuntimes(
  before: FunctionVersion,
  after: FunctionVersion,
  at: Path,
  report: Report,
): void {
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
