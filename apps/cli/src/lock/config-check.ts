import type { CheckedDefinition, ConfigProblem } from '@krmhub/schema/config-fields/check-config';
import type { JsonObject } from '@krmhub/schema/definition';
import type { Path, Position } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import type { ListedFunction } from '../function-configs/layers.js';
import type { Io } from '../io/io.js';
import { escapeControls } from '../io/text.js';
import type { Resolution } from '../resolve/resolution.js';

/** A functionConfig, and where it is written. */
export interface WrittenConfig {
  apiVersion: string;
  kind: string;
  value: JsonObject | undefined;
  /** As it is printed. Without it, problems have no position. */
  file?: string;
  positionOf?: (path: Path, target?: 'key' | 'value') => Position | undefined;
  exact?: (path: Path) => bigint | undefined;
}

/**
 * Checks a functionConfig against the schema of its function, before anything runs or is written (KEP-2906: the schema
 * is "to use for validation"). Throws `invalid-document` with every problem, and where it is. Does nothing for a
 * function without a schema: one that has its own runtime, or of which only a lock file is read.
 */
export async function checkResolved(
  { entry, declared = entry }: Pick<Resolution, 'entry' | 'declared'>,
  config: WrittenConfig,
): Promise<void> {
  if (declared !== undefined) await checkDeclared(declared, config);
}

/** As `checkResolved`, for a known definition. */
export async function checkDeclared(definition: CheckedDefinition, config: WrittenConfig): Promise<void> {
  if (config.value === undefined) throw invalid(config, ['it has no functionConfig']);
  const { checkConfig } = await import('@krmhub/schema/config-fields/check-config');
  const version = config.apiVersion.slice(config.apiVersion.indexOf('/') + 1);
  const checked = checkConfig(definition, version, config.value, config.exact);
  if (checked.result === 'unchecked' || checked.problems.length === 0) return;
  throw invalid(
    config,
    checked.problems.map((problem) => describe(problem, config)),
  );
}

/** For a functionConfig that a layer lists. */
export async function checkListed(
  io: Io,
  { request, config, file }: ListedFunction,
  resolution: Resolution,
): Promise<void> {
  if (config === undefined) return;
  const { displayPath } = await import('./display-path.js');
  const { apiVersion, kind } = request;
  await checkResolved(resolution, { apiVersion, kind, file: displayPath(io, file), ...config });
}

function describe({ path, message, at, isKey }: ConfigProblem, { file, positionOf }: WrittenConfig): string {
  const text = `${path === '' ? 'the functionConfig' : path} ${message}`;
  if (file === undefined) return text;
  // A field that is missing is reported where its parent is.
  const position =
    positionOf?.(at, isKey ? 'key' : 'value') ?? positionOf?.(at.slice(0, -1)) ?? positionOf?.([]);
  return `${file}${position === undefined ? '' : `:${position.line}:${position.column}`}: ${text}`;
}

function invalid({ apiVersion, kind }: WrittenConfig, problems: readonly string[]): KrmhubError {
  const [first = '', ...more] = [
    `the functionConfig of ${apiVersion} ${kind} does not satisfy the schema of its catalog`,
    ...problems.map((one) => `  ${escapeControls(one)}`),
  ];
  return new KrmhubError('invalid-document', [first, ...more].join('\n'), {
    hint: `Show its fields: krmhub show ${apiVersion.replace(/\/[^/]*$/, '')}/${kind}`,
  });
}
