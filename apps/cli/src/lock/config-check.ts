import type { Resolution } from '@krmhub/consume/resolve/resolution';
import type { CheckedDefinition, ConfigProblem } from '@krmhub/schema/config-fields/check-config';
import type { JsonObject } from '@krmhub/schema/definition';
import type { Path, Position } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { ListedFunction } from '../function-configs/layers.js';
import type { Io } from '../io/io.js';

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
 * is "to use for validation"). Throws `invalid-document` with every problem, and where it is. Returns a warning, with the
 * place, if it is too large to check. Does nothing for a function without a schema: one that has its own runtime, or whose
 * locked definition is not available, which is a warning of its resolution.
 */
export async function checkResolved(
  { entry, declared = entry }: Resolution,
  config: WrittenConfig,
): Promise<string | undefined> {
  return declared === undefined ? undefined : checkDeclared(declared, config);
}

/** As `checkResolved`, for a known definition. */
export async function checkDeclared(
  definition: CheckedDefinition,
  config: WrittenConfig,
): Promise<string | undefined> {
  if (config.value === undefined) throw invalid(config, ['it has no functionConfig']);
  const { checkConfig } = await import('@krmhub/schema/config-fields/check-config');
  const version = config.apiVersion.slice(config.apiVersion.indexOf('/') + 1);
  const checked = checkConfig(definition, version, config.value, config.exact);
  if (checked.result === 'unchecked') {
    const { apiVersion, kind } = config;
    return at(config, [], `the functionConfig of ${apiVersion} ${kind} is not checked: ${checked.reason}`);
  }
  if (checked.problems.length === 0) return undefined;
  throw invalid(
    config,
    checked.problems.map((problem) => describe(problem, config)),
  );
}

/** For a functionConfig that a layer lists. */
export async function checkListed(
  io: Io,
  listed: ListedFunction,
  resolution: Resolution,
): Promise<string | undefined> {
  const { request, config } = listed;
  if (config === undefined) return undefined;
  const { displayListed } = await import('./display-path.js');
  const { apiVersion, kind } = request;
  return checkResolved(resolution, { apiVersion, kind, file: displayListed(io, listed).file, ...config });
}

function describe({ path, message, at: place, isKey }: ConfigProblem, config: WrittenConfig): string {
  return at(config, place, `${path === '' ? 'the functionConfig' : path} ${message}`, isKey);
}

/** Puts the place of a value in front of a text. */
function at({ file, positionOf }: WrittenConfig, path: Path, text: string, isKey = false): string {
  if (file === undefined) return text;
  // A field that is missing is reported where its parent is.
  const position =
    positionOf?.(path, isKey ? 'key' : 'value') ?? positionOf?.(path.slice(0, -1)) ?? positionOf?.([]);
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
